//! One reading of a history: which answer belongs to which request, who held a lock from when to
//! when, when each lease ended, and when faults were on.
//!
//! Everything that judges, measures or draws a history reads it through here, so that a picture
//! cannot contradict a verdict.
//!
//! - [`AttemptTracker`] turns events into steps of attempts, one event at a time, and keeps only
//!   the attempts that are under way. The checkers run on it.
//! - [`Timeline`] has the whole run: [`Operation`]s, [`Hold`]s, [`FaultSpan`]s and frozen workers.
//! - `lease_deadline.rs` has the rule for the end of a lease, `grant_order.rs` the one for which of
//!   two grants came first.

mod attempt;
mod fault;
mod grant_order;
mod hold;
mod last_answer;
mod lease;
mod lease_deadline;
mod nanoseconds;
mod operation;
mod request_read;
mod step;
#[cfg(test)]
mod tests;
mod tracker;

use std::cell::OnceCell;
use std::collections::BTreeMap;

use crate::history::History;

pub use attempt::Attempt;
pub use fault::{
    FaultSpan, forgets, is_instantaneous, leaves_two_masters, lies, loses, spoils_clocks,
};
pub(crate) use hold::HoldReader;
pub use hold::{Hold, LeasePhase, LeaseState};
pub use lease::{Lease, overlap};
pub use nanoseconds::{is_rounded_up, ms};
pub use operation::{Operation, OperationKind, OperationOutcome, each_operation};
pub use step::{AcquireFailure, HoldEnd, Step};
pub use tracker::{AttemptTracker, UnderWay};

/// A history as operations, holds and faults. Each part is read when it is first asked for, and
/// only once.
#[derive(Debug)]
pub struct Timeline<'a> {
    history: &'a History,
    operations: OnceCell<Vec<Operation>>,
    holds: OnceCell<Vec<Hold>>,
    faults: OnceCell<Vec<FaultSpan<'a>>>,
    frozen: OnceCell<BTreeMap<usize, Vec<(u64, u64)>>>,
}

impl<'a> Timeline<'a> {
    /// The timeline of this history; nothing is read yet.
    pub fn new(history: &'a History) -> Self {
        Timeline {
            history,
            operations: OnceCell::new(),
            holds: OnceCell::new(),
            faults: OnceCell::new(),
            frozen: OnceCell::new(),
        }
    }

    /// The history itself.
    pub fn history(&self) -> &'a History {
        self.history
    }

    /// When the last event happened, nanoseconds since the run began.
    pub fn end_ns(&self) -> u64 {
        self.history.events.last().map_or(0, |event| event.at_ns)
    }

    /// All requests with their answers, in the order in which they were over.
    pub fn operations(&self) -> &[Operation] {
        self.operations.get_or_init(|| {
            let mut operations = Vec::new();
            each_operation(self.history, |operation| operations.push(operation));
            operations
        })
    }

    /// All holds, in the order in which they began.
    pub fn holds(&self) -> &[Hold] {
        self.holds.get_or_init(|| hold::holds(self.history))
    }

    /// These are all holds: somebody has read them together with something else.
    pub(crate) fn have_read(&self, holds: Vec<Hold>) {
        self.holds.get_or_init(|| holds);
    }

    /// All faults, in the order in which they began.
    pub fn faults(&self) -> &[FaultSpan<'a>] {
        self.faults.get_or_init(|| fault::fault_spans(self.history))
    }

    /// When each worker was frozen: disjoint spans in the order of time, from and to. Workers that
    /// were never frozen are left out.
    pub fn frozen(&self) -> &BTreeMap<usize, Vec<(u64, u64)>> {
        self.frozen
            .get_or_init(|| fault::frozen(self.history, self.faults()))
    }
}
