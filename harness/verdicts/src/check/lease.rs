//! Lease: no two holds overlap even when each is cut at its own lease deadline.
//!
//! Where this is violated, two clients were inside while both had been promised that they were
//! alone: the service let two in. The deadline never lies later than what the client may believe
//! (see `timeline/lease_deadline.rs`), so nobody is accused whose lease had run out.
//!
//! A lease that had run out and is extended afterwards runs anew from the extension's arrival,
//! not through the gap: whoever was let in during the gap, and left before the extension, met
//! nobody whose lease was running. The word `lost` ends the lease when it arrives; the holder
//! knew no later than that.
//!
//! Each event costs a bisection among the leases that run at that moment. In a lock that works
//! that is one; in one that does not, no more than there are workers.

use crate::timeline::{Attempt, Step};

use super::checker::Checker;
use super::evidence::Evidence;
use super::exclusion::overlap_verdict;
use super::overlap::{Overlaps, Tally};
use super::verdict::Verdict;

/// A lease that runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Running {
    until_ns: u64,
    op: u64,
    from_ns: u64,
}

#[derive(Debug, Clone, Default)]
struct KeyLeases {
    overlaps: Overlaps,
    /// By deadline. Holds one in a lock that works, so that keeping a vector sorted is cheaper
    /// than a tree; found by bisection.
    running: Vec<Running>,
}

/// The checker.
#[derive(Debug)]
pub struct LeaseOverlap {
    keys: Vec<KeyLeases>,
    tally: Tally,
}

impl LeaseOverlap {
    /// For a history with so many keys.
    pub fn new(keys: usize) -> Self {
        LeaseOverlap {
            keys: vec![KeyLeases::default(); keys],
            tally: Tally::default(),
        }
    }
}

impl KeyLeases {
    /// Ends what has run out by now, in order.
    fn settle(&mut self, at_ns: u64, tally: &mut Tally) {
        let over = self.running.iter().take_while(|run| run.until_ns <= at_ns);
        let over = over.count();
        for run in self.running.drain(..over) {
            tally.ended(self.overlaps.end(run.until_ns, run.op, run.from_ns));
        }
    }

    fn begin(&mut self, at_ns: u64, attempt: &Attempt, tally: &mut Tally) {
        if attempt.deadline_ns > at_ns {
            tally.begun(self.overlaps.begin(at_ns, attempt.op));
            self.insert(Running {
                until_ns: attempt.deadline_ns,
                op: attempt.op,
                from_ns: at_ns,
            });
        }
    }

    fn insert(&mut self, run: Running) {
        let index = self.running.partition_point(|other| *other < run);
        self.running.insert(index, run);
    }

    fn take(&mut self, until_ns: u64, op: u64) -> Option<Running> {
        let position = |run: &Running| (run.until_ns, run.op).cmp(&(until_ns, op));
        let index = self.running.binary_search_by(position).ok()?;
        Some(self.running.remove(index))
    }

    fn moved(&mut self, at_ns: u64, attempt: &Attempt, was_ns: u64, tally: &mut Tally) {
        match self.take(was_ns, attempt.op) {
            Some(run) if attempt.deadline_ns > at_ns => self.insert(Running {
                until_ns: attempt.deadline_ns,
                ..run
            }),
            Some(run) => tally.ended(self.overlaps.end(at_ns, run.op, run.from_ns)),
            None => self.begin(at_ns, attempt, tally),
        }
    }
}

impl Checker for LeaseOverlap {
    fn step(&mut self, at_ns: u64, attempt: &Attempt, step: Step) {
        let Some(key) = self.keys.get_mut(attempt.key as usize) else {
            return;
        };
        let tally = &mut self.tally;
        match step {
            Step::Begun => {
                key.settle(at_ns, tally);
                key.begin(at_ns, attempt, tally);
            }
            Step::LeaseMoved { was_ns, .. } => {
                key.settle(at_ns, tally);
                key.moved(at_ns, attempt, was_ns, tally);
            }
            Step::Ended(_) => {
                key.settle(at_ns, tally);
                if let Some(run) = key.take(attempt.deadline_ns, attempt.op) {
                    tally.ended(key.overlaps.end(at_ns, run.op, run.from_ns));
                }
            }
            _ => {}
        }
    }

    fn finish(self: Box<Self>, evidence: &Evidence<'_>) -> Verdict {
        overlap_verdict(&self.tally, evidence)
    }
}
