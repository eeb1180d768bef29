//! Who ended a worker, and why a run ended.

use serde::{Deserialize, Serialize};

/// Why a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EndReason {
    /// Every buyer saw an empty stock, or left.
    SoldOut,
    /// The scenario's limit was reached.
    Limit,
    /// The user interrupted the run.
    Interrupted,
    /// No worker was left.
    NoWorkers,
    /// Every buyer has all that it wanted; in an open loop, all buyers who arrived were served.
    Served,
    /// The lock declined what the scenario asks for: extensions, or its lease.
    Declined,
    /// A server died, and no fault asked for it.
    NodeLost,
    /// Workers died on their own, and fewer than two were left.
    TooFewClients,
    /// The proxy refused every client of every worker.
    ClientsRefused,
    /// The simulated run has used up a budget.
    BudgetSpent,
}

/// Who ended a worker that no fault has killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EndedBy {
    /// Itself: it exited.
    Itself,
    /// A signal that was not the harness's.
    Signal,
    /// The harness, because it did not answer in time.
    Deadline,
    /// The harness, because it broke the protocol.
    Protocol,
}

impl EndedBy {
    /// How a worker ended that no fault has killed, in words. `by`: who ended it, if that is known.
    pub fn describe(by: Option<EndedBy>, worker: usize, reason: &str) -> String {
        match by {
            Some(EndedBy::Deadline | EndedBy::Protocol) => {
                format!("Picklock ended worker {worker}: {reason}")
            }
            Some(EndedBy::Itself | EndedBy::Signal) | None => {
                format!("worker {worker} died on its own: {reason}")
            }
        }
    }
}
