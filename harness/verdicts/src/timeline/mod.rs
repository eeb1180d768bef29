//! The single interpretation of a history: which answer belongs to which request, when each client held a lock, when
//! each lease ended, and when each fault was active.
//!
//! All code that judges, measures or draws a history goes through this module, so that a chart cannot contradict a
//! verdict.
//!
//! - [`AttemptTracker`] turns events into steps of attempts, one event at a time, and keeps only the attempts in
//!   progress. The checkers run on it.
//! - [`Timeline`] covers the whole run: [`Operation`]s, [`Hold`]s, [`FaultSpan`]s and frozen workers.
//! - `lease_deadline.rs` computes the end of a lease, and `grant_order.rs` decides which of two grants came first.

mod acquired_places;
mod attempt;
mod extended_deadline;
mod fault;
mod grant_order;
mod hold;
mod last_answer;
mod last_write;
mod lease;
mod lease_deadline;
mod lifetime;
mod nanoseconds;
mod operation;
mod request_read;
mod step;
#[cfg(test)]
mod tests;
mod token;
mod tracker;
pub(crate) mod work_count;

use std::cell::OnceCell;
use std::collections::BTreeMap;

use crate::history::{Event, EventKind, History};

pub use acquired_places::AcquiredPlaces;
pub use attempt::Attempt;
pub(crate) use fault::includes;
pub use fault::{
    FaultSpan, affects_only_replicas, answers_falsely, breaks_leases, ends_clients, holds_back,
    is_instantaneous, leaves_two_masters, loss_cause, only_delays, spoils_clocks, stops_clients,
};
pub(crate) use hold::HoldReader;
pub use hold::{Hold, LeasePhase, LeaseState};
pub use lease::{Lease, Leases, overlap};
pub(crate) use nanoseconds::EXPIRY_SLACK_NS;
pub use nanoseconds::{is_rounded_up, ms_from_ns, ns_from_ms};
pub use operation::{Operation, OperationKind, OperationOutcome, each_operation};
pub use step::{AcquireFailure, HoldEnd, Step};
pub(crate) use token::{are_related, is_distinctive, names_token};
pub use tracker::{AttemptTracker, UnderWay};

/// Returns `true` if the event is neither about an attempt nor about a key.
pub(crate) fn is_of_run(event: &Event) -> bool {
    event.what.attempt().is_none() && !matches!(event.what, EventKind::KeyChanged { .. })
}

/// A history as operations, holds and faults. Each part is computed on first use and cached.
#[derive(Debug)]
pub struct Timeline<'a> {
    history: &'a History,
    run_events: OnceCell<Vec<&'a Event>>,
    operations: OnceCell<Vec<Operation>>,
    holds: OnceCell<Vec<Hold>>,
    faults: OnceCell<Vec<FaultSpan<'a>>>,
    frozen: OnceCell<BTreeMap<usize, Vec<(u64, u64)>>>,
    have_holds_overlapped: OnceCell<bool>,
}

impl<'a> Timeline<'a> {
    /// Creates the timeline of this history. Nothing is computed yet.
    pub fn new(history: &'a History) -> Self {
        Timeline {
            history,
            run_events: OnceCell::new(),
            operations: OnceCell::new(),
            holds: OnceCell::new(),
            faults: OnceCell::new(),
            frozen: OnceCell::new(),
            have_holds_overlapped: OnceCell::new(),
        }
    }

    /// Returns the history itself.
    pub fn history(&self) -> &'a History {
        self.history
    }

    /// Returns the time of the last event, in nanoseconds since the run began.
    pub fn end_ns(&self) -> u64 {
        self.history.events.last().map_or(0, |event| event.at_ns)
    }

    /// Returns the events that are neither about an attempt nor about a key: those of faults, of stalls, and of the run
    /// itself. They are few, so that searching them takes no time.
    pub(crate) fn run_events(&self) -> &[&'a Event] {
        self.run_events.get_or_init(|| {
            let events = self.history.events.iter();
            events.filter(|event| is_of_run(event)).collect()
        })
    }

    /// Sets the result of [`Timeline::run_events`], for a caller that has already computed it.
    pub(crate) fn set_run_events(&self, events: Vec<&'a Event>) {
        self.run_events.get_or_init(|| events);
    }

    /// Returns all requests with their answers, in the order in which they ended.
    pub fn operations(&self) -> &[Operation] {
        self.operations.get_or_init(|| {
            let mut operations = Vec::new();
            each_operation(self.history, |operation| operations.push(operation));
            operations
        })
    }

    /// Returns all holds, in the order in which they began.
    pub fn holds(&self) -> &[Hold] {
        self.holds.get_or_init(|| hold::holds(self.history))
    }

    /// Sets the result of [`Timeline::holds`], for a caller that has already computed it.
    pub(crate) fn set_holds(&self, holds: Vec<Hold>) {
        self.holds.get_or_init(|| holds);
    }

    /// Returns `false` if the holds of each lock certainly followed one another.
    pub(crate) fn may_holds_overlap(&self) -> bool {
        *self.have_holds_overlapped.get().unwrap_or(&true)
    }

    /// Sets the result of [`Timeline::may_holds_overlap`].
    pub(crate) fn set_holds_overlapped(&self, have_overlapped: bool) {
        self.have_holds_overlapped.get_or_init(|| have_overlapped);
    }

    /// Returns all faults, in the order in which they began.
    pub fn faults(&self) -> &[FaultSpan<'a>] {
        self.faults.get_or_init(|| fault::fault_spans(self.history))
    }

    /// Returns when each worker was frozen, as disjoint `(from, to)` spans in chronological order. Workers that were
    /// never frozen are absent.
    pub fn frozen(&self) -> &BTreeMap<usize, Vec<(u64, u64)>> {
        self.frozen
            .get_or_init(|| fault::frozen(self.history, self.faults()))
    }
}
