//! Overlaps among the intervals of one key, found as their ends arrive, in order of time.
//!
//! `[b1, c1]` and `[b2, c2]` overlap if `b1 < c2` and `b2 < c1` (see
//! [`overlap`](crate::timeline::overlap)). Times come from one clock with a finite step, so equal
//! times prove no order: a release and a grant at the same nanosecond may have happened in either
//! order. An interval without length overlaps those that began before it and end after it.
//!
//! Every pair is counted exactly once. When an interval with length ends, all others that are still
//! open, and began strictly before that end, overlap with it. Because times never decrease, the ones
//! that did not begin before are those with the latest begin, so two counters are enough. An interval
//! without length waits until time moves on: those that are open then, and began before it, overlap
//! with it. All that wait have the same time, which is the latest begin, so one more counter is
//! enough, and each event costs O(1). Open intervals are remembered by name only until the first
//! overlap of their key is known.

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

/// What an event shows: how many more pairs overlap, and the key's first pair if it is among them.
pub(super) type Shown = (u64, Option<Pair>);

/// The intervals of one key.
#[derive(Debug, Clone, Default)]
pub(super) struct Overlaps {
    open: u64,
    latest_begin_ns: u64,
    begun_latest: u64,
    /// Intervals without length at the latest begin, and the name of the first one.
    points: u64,
    point_op: u64,
    named: Vec<Open>,
    found: bool,
}

impl Overlaps {
    /// An interval begins.
    pub fn begin(&mut self, at_ns: u64, op: u64) -> Shown {
        let shown = self.shown_by(at_ns);
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
        shown
    }

    /// An interval ends.
    pub fn end(&mut self, at_ns: u64, op: u64, begin_ns: u64) -> Shown {
        let (mut pairs, pair) = self.shown_by(at_ns);
        self.open = self.open.saturating_sub(1);
        if begin_ns == self.latest_begin_ns {
            self.begun_latest = self.begun_latest.saturating_sub(1);
        }
        if !self.found
            && let Some(index) = self.named.iter().rposition(|open| open.op == op)
        {
            self.named.remove(index);
        }
        if begin_ns >= at_ns {
            if self.points == 0 {
                self.point_op = op;
            }
            self.points += 1;
        } else if self.latest_begin_ns == at_ns {
            pairs += self.open.saturating_sub(self.begun_latest);
        } else {
            pairs += self.open;
        }
        (pairs, pair)
    }

    /// What is shown by the time alone: the key's first overlap, if two open intervals began before
    /// it; and the pairs of which one interval has no length.
    pub fn shown_by(&mut self, at_ns: u64) -> Shown {
        if at_ns <= self.latest_begin_ns {
            return (0, None);
        }
        let around = self.open.saturating_sub(self.begun_latest);
        let points = std::mem::take(&mut self.points);
        let pair = match self.named[..] {
            _ if self.found => None,
            [earlier, later, ..] => Some((earlier.op, later)),
            [earlier] if points > 0 && around > 0 => {
                let begin_ns = self.latest_begin_ns;
                let op = self.point_op;
                Some((earlier.op, Open { op, begin_ns }))
            }
            _ => None,
        };
        let pair = pair.map(|(earlier, later)| Pair {
            earlier,
            later: later.op,
            onset_ns: later.begin_ns,
        });
        if pair.is_some() {
            self.found = true;
            self.named = Vec::new();
        }
        (points * around, pair)
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
    /// Adds what an event has shown.
    pub fn add(&mut self, (pairs, first): Shown) {
        self.pairs += pairs;
        if let Some(pair) = first
            && self
                .first
                .is_none_or(|first| pair.onset_ns < first.onset_ns)
        {
            self.first = Some(pair);
        }
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
