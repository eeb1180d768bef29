//! What a history says in numbers, beyond verdicts: how long the lock took, in good times and in
//! bad ones, who got it how often, and what faults and dead holders cost the others.
//!
//! - [`Phase`]: whether an operation met a fault, its aftermath, or neither
//! - [`Speed`]: latency and throughput of one phase
//! - [`Fairness`], [`Recovery`], [`Orphan`]
//!
//! Nothing is judged here. Numbers that a history cannot give (commands for an acquisition: they
//! are in the wire log) are not made up.

mod fairness;
mod operation;
mod orphan;
mod phase;
mod recovery;
mod speed;
mod waits;

use picklock_harness::check::holds;
use picklock_harness::history::History;

pub use fairness::{Fairness, LongestWait};
pub use orphan::Orphan;
pub(crate) use phase::merged;
pub use phase::{Phase, Phases};
pub use recovery::Recovery;
pub use speed::{Operation, Speed};

/// All measures of one history.
#[derive(Debug, Clone)]
pub struct Measures {
    /// One for each phase that the run had, in the order of [`Phase::ALL`].
    pub speeds: Vec<Speed>,
    /// Who got the lock how often.
    pub fairness: Fairness,
    /// One for each fault that was over before the run was.
    pub recoveries: Vec<Recovery>,
    /// Locks whose holder died, or failed to give them back.
    pub orphans: Vec<Orphan>,
}

/// Measures a history.
pub fn measure(history: &History) -> Measures {
    let operations = operation::operations(history);
    let phases = Phases::of(history);
    let holds = holds(history);
    Measures {
        speeds: speed::speeds(&operations, &phases),
        fairness: fairness::of(history.header.workers, &operations),
        recoveries: recovery::recoveries(history, &holds),
        orphans: orphan::orphans(history, &holds, &operations),
    }
}

/// When the last event was seen.
fn end_ns(history: &History) -> u64 {
    history.events.last().map_or(0, |event| event.at_ns)
}

#[cfg(test)]
mod tests;
