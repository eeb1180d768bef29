//! Figures from a history in addition to the verdicts: latencies with and without faults, fairness, and how
//! long faults and orphaned locks kept other clients waiting.
//!
//! - [`Phase`]: whether an operation overlapped a fault, its aftermath, or neither
//! - [`Speed`]: latency and throughput of one phase
//! - [`Fairness`], [`Recovery`], [`Orphan`]
//! - [`cost`]: commands per acquisition, from the command log
//!
//! This module judges nothing.

mod fairness;
mod orphan;
mod phase;
mod speed;
mod waits;

use picklock_verdicts::timeline::{OperationKind, Timeline};

use crate::command_log::{CommandLog, Cost};

pub use fairness::Fairness;
pub use orphan::{Orphan, Recovery};
pub use phase::{Phase, Phases};
pub(crate) use phase::{meets, merged};
pub use speed::{Outcomes, Speed};
pub use waits::LongestWait;

/// All measures of one history.
#[derive(Debug, Clone)]
pub struct Measures {
    /// One entry per phase of the run, in the order of [`Phase::ALL`].
    pub speeds: Vec<Speed>,
    /// The number of grants per worker.
    pub fairness: Fairness,
    /// One entry per fault that ended before the run did.
    pub recoveries: Vec<Recovery>,
    /// Locks that were not released, because the holder died or its release failed.
    pub orphans: Vec<Orphan>,
}

/// Computes the measures of a history from its timeline.
pub fn measure(timeline: &Timeline<'_>) -> Measures {
    let operations = timeline.operations();
    Measures {
        speeds: speed::speeds(operations, &Phases::from_timeline(timeline)),
        fairness: fairness::fairness(timeline.history().header.workers, operations),
        recoveries: orphan::recoveries(timeline),
        orphans: orphan::orphans(timeline),
    }
}

/// Returns the number of commands per acquisition, from the log that was saved with the history, or `None` if
/// there was no grant or the log lacks those commands.
pub fn cost(timeline: &Timeline<'_>, log: &CommandLog) -> Option<Cost> {
    let operations = timeline.operations().iter();
    let granted = operations.filter(|operation| operation.succeeded(OperationKind::Acquire));
    log.cost(granted.map(|operation| (operation.op, operation.requested_at_ns)))
}

#[cfg(test)]
mod tests;
