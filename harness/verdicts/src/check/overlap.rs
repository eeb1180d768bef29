//! Overlaps among the intervals of one key, found as their ends arrive, in order of time.
//!
//! Overlap is strict: `[b1, c1]` and `[b2, c2]` overlap only if `max(b1, b2) < min(c1, c2)`. Times
//! come from one clock with a finite step, so equal times prove no order: a release and a grant at
//! the same nanosecond may have happened in either order, and an interval without length overlaps
//! nothing.
//!
//! Every pair is counted exactly once, when its first end arrives. All other intervals that are
//! still open then, and began strictly before that end, overlap with it. Because times never
//! decrease, the ones that did not begin before are those with the latest begin, so two counters
//! are enough, and each event costs O(1). Open intervals are remembered by name only until the
//! first overlap of their key is known.

use picklock_scenarios::Property;

use super::finding::{Finding, Judgement, Seen};

/// An interval that has begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Open {
    op: u64,
    begin_ns: u64,
}

/// Two intervals that overlap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pair {
    /// The one that began first.
    pub earlier: u64,
    /// The one that began while the first was open.
    pub later: u64,
    /// When the overlap began.
    pub onset_ns: u64,
}

/// The intervals of one key.
#[derive(Debug, Clone, Default)]
pub(super) struct Overlaps {
    open: u64,
    latest_begin_ns: u64,
    begun_latest: u64,
    named: Vec<Open>,
    found: bool,
}

impl Overlaps {
    /// An interval begins. Returns the key's first overlap, when this shows it.
    pub fn begin(&mut self, at_ns: u64, op: u64) -> Option<Pair> {
        let pair = self.first_overlap(at_ns);
        if self.open == 0 || self.latest_begin_ns != at_ns {
            self.latest_begin_ns = at_ns;
            self.begun_latest = 0;
        }
        self.open += 1;
        self.begun_latest += 1;
        if !self.found {
            self.named.push(Open {
                op,
                begin_ns: at_ns,
            });
        }
        pair
    }

    /// An interval ends. Returns how many others it overlapped that are still open, and the key's
    /// first overlap, when this shows it.
    pub fn end(&mut self, at_ns: u64, op: u64, begin_ns: u64) -> (u64, Option<Pair>) {
        let pair = self.first_overlap(at_ns);
        self.open = self.open.saturating_sub(1);
        if begin_ns == self.latest_begin_ns {
            self.begun_latest = self.begun_latest.saturating_sub(1);
        }
        if !self.found
            && let Some(index) = self.named.iter().rposition(|open| open.op == op)
        {
            self.named.remove(index);
        }
        let overlapped = if begin_ns >= at_ns {
            0
        } else if self.latest_begin_ns == at_ns {
            self.open.saturating_sub(self.begun_latest)
        } else {
            self.open
        };
        (overlapped, pair)
    }

    /// The key's first overlap, if `at_ns` shows it: two open intervals that began before it.
    pub fn first_overlap(&mut self, at_ns: u64) -> Option<Pair> {
        if self.found || self.open < 2 || at_ns <= self.latest_begin_ns {
            return None;
        }
        self.found = true;
        let named = std::mem::take(&mut self.named);
        let [earlier, later, ..] = named[..] else {
            return None;
        };
        Some(Pair {
            earlier: earlier.op,
            later: later.op,
            onset_ns: later.begin_ns,
        })
    }
}

/// The overlaps of all keys: how many there are, and the first one.
#[derive(Debug, Clone, Default)]
pub(super) struct Tally {
    /// Pairs that overlapped.
    pub pairs: u64,
    /// The one that began first.
    pub first: Option<Pair>,
}

impl Tally {
    /// Adds a result of [`Overlaps::begin`].
    pub fn begun(&mut self, pair: Option<Pair>) {
        if let Some(pair) = pair
            && self
                .first
                .is_none_or(|first| pair.onset_ns < first.onset_ns)
        {
            self.first = Some(pair);
        }
    }

    /// Adds a result of [`Overlaps::end`].
    pub fn ended(&mut self, (pairs, first): (u64, Option<Pair>)) {
        self.pairs += pairs;
        self.begun(first);
    }

    /// The judgement on a property that demands that there are no overlaps.
    pub fn judgement(self, property: Property) -> Judgement {
        let finding = |pair: Pair| Finding {
            property,
            at_ns: pair.onset_ns,
            seen: Seen::Overlap {
                earlier: pair.earlier,
                later: pair.later,
            },
        };
        Judgement::of(self.first.map(finding), self.pairs)
    }
}
