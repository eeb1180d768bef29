//! Lease: no two holds overlap even when each is cut at its own lease deadline.
//!
//! If this is violated, two clients were inside while each had been promised to be alone: the
//! service let two in. The deadline is never later than what the client may believe (see
//! `timeline/lease_deadline.rs`), so a lock is not accused after its lease has expired.
//!
//! A lease that is extended after it has expired starts again when the extension arrives; the gap
//! does not count. A client that was let in during the gap, and left before the extension, met no
//! running lease. The message `lost` ends the lease when it arrives; the holder knew no later.
//!
//! Each event costs a binary search among the leases that are running. A working lock has one of
//! them; a broken one has at most one per worker.

use picklock_scenarios::Property;

use crate::check::checker::Checker;
use crate::check::description::{DOES_NOT_APPLY, Description};
use crate::check::finding::Judgement;
use crate::check::overlap::{Overlaps, Tally};
use crate::history::Header;
use crate::timeline::{Attempt, Step};

/// A running lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct RunningLease {
    until_ns: u64,
    op: u64,
    from_ns: u64,
}

#[derive(Debug, Clone, Default)]
struct KeyLeases {
    overlaps: Overlaps,
    /// By deadline. A working lock has at most one, so a sorted vector is cheaper than a tree.
    running: Vec<RunningLease>,
}

/// The checker.
pub(in crate::check) struct Lease {
    keys: Vec<KeyLeases>,
    tally: Tally,
}

impl KeyLeases {
    /// Ends the leases that have expired by now, in order.
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
            self.insert(RunningLease {
                until_ns: attempt.deadline_ns,
                op: attempt.op,
                from_ns: at_ns,
            });
        }
    }

    fn insert(&mut self, run: RunningLease) {
        let index = self.running.partition_point(|other| *other < run);
        self.running.insert(index, run);
    }

    fn take(&mut self, until_ns: u64, op: u64) -> Option<RunningLease> {
        let position = |run: &RunningLease| (run.until_ns, run.op).cmp(&(until_ns, op));
        let index = self.running.binary_search_by(position).ok()?;
        Some(self.running.remove(index))
    }

    fn moved(&mut self, at_ns: u64, attempt: &Attempt, was_ns: u64, tally: &mut Tally) {
        match self.take(was_ns, attempt.op) {
            Some(run) if attempt.deadline_ns > at_ns => self.insert(RunningLease {
                until_ns: attempt.deadline_ns,
                ..run
            }),
            Some(run) => tally.ended(self.overlaps.end(at_ns, run.op, run.from_ns)),
            None => self.begin(at_ns, attempt, tally),
        }
    }
}

impl Checker for Lease {
    const DESCRIPTION: Description = Description {
        letter: 'L',
        severity: 0,
        held: "no client was let in while another's lease was running",
        violated: "two clients' leases overlapped",
        not_applicable: DOES_NOT_APPLY,
        page: include_str!("../../../../../docs/explain/lease.md"),
    };

    fn new(header: &Header) -> Self {
        Lease {
            keys: vec![KeyLeases::default(); header.keys.len()],
            tally: Tally::default(),
        }
    }

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

    fn finish(self) -> Judgement {
        self.tally.judgement(Property::Lease)
    }
}
