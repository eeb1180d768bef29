//! What a history says in numbers, beyond verdicts: how long the lock took, in good times and in
//! bad ones, who got it how often, and what faults and dead holders cost the others.
//!
//! - [`Phase`]: whether an operation met a fault, its aftermath, or neither
//! - [`Speed`]: latency and throughput of one phase
//! - [`Fairness`], [`Recovery`], [`Orphan`]
//!
//! - [`cost`]: commands for an acquisition, which only the command log can tell
//!
//! Nothing is judged here. Numbers that neither history nor log can give are not made up.

mod fairness;
mod operation;
mod orphan;
mod phase;
mod recovery;
mod speed;
mod waits;

use std::collections::BTreeMap;

use picklock_verdicts::check::holds;
use picklock_verdicts::history::{History, What};

use crate::wire_log::{Cost, WireLog};

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

/// What the acquisitions of a history cost in commands, from the log that was kept with it. `None`
/// where nothing was granted or the log knows nothing of it.
pub fn cost(history: &History, log: &WireLog) -> Option<Cost> {
    let mut asked_ns: BTreeMap<u64, u64> = BTreeMap::new();
    let mut granted = Vec::new();
    for event in &history.events {
        match &event.what {
            What::Acquire { op, .. } => {
                asked_ns.insert(*op, event.at_ns);
            }
            What::Granted { op, .. } => {
                granted.extend(asked_ns.remove(op).map(|asked_ns| (*op, asked_ns)));
            }
            _ => {}
        }
    }
    log.cost(granted)
}

/// When the last event was seen.
fn end_ns(history: &History) -> u64 {
    history.events.last().map_or(0, |event| event.at_ns)
}

#[cfg(test)]
mod tests;
