//! Overlaps among the intervals of one key, found while their ends come in, in order of time.
//!
//! Overlap is strict: `[b1, c1]` and `[b2, c2]` overlap only if `max(b1, b2) < min(c1, c2)`. Times
//! are those of one clock with a finite step, so equal times prove no order: a release and a
//! grant at the same nanosecond may have come in either order, and an interval without length
//! overlaps nothing.
//!
//! Every pair is counted exactly once: when its first end comes in. All others that are then
//! still open and began strictly earlier than that end overlap with it. Because times never
//! decrease, the ones that began no earlier are those of the latest begin, so two counters do,
//! and each event costs O(1). Only until the first overlap of a key is known are its open
//! intervals remembered by name.

/// An interval that has begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Open {
    op: u64,
    begin_ns: u64,
}

/// Two intervals that overlap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pair {
    /// The one that began first.
    pub earlier: u64,
    /// The one that began while the first was open.
    pub later: u64,
    /// When the overlap began.
    pub onset_ns: u64,
}

/// The intervals of one key.
#[derive(Debug, Clone, Default)]
pub struct Overlaps {
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

    /// Time has come to `at_ns`: two that are open, and began before, overlap.
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

/// Overlaps over all keys: how many, and the first.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    /// Pairs that overlapped.
    pub pairs: u64,
    /// The one that began first.
    pub first: Option<Pair>,
}

impl Tally {
    /// Takes in what [`Overlaps::begin`] said.
    pub fn begun(&mut self, pair: Option<Pair>) {
        if let Some(pair) = pair
            && self
                .first
                .is_none_or(|first| pair.onset_ns < first.onset_ns)
        {
            self.first = Some(pair);
        }
    }

    /// Takes in what [`Overlaps::end`] said.
    pub fn ended(&mut self, (pairs, first): (u64, Option<Pair>)) {
        self.pairs += pairs;
        self.begun(first);
    }
}
