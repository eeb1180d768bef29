//! The reasons for the end of a run, and the failures of workers.

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
    /// Every buyer bought everything it wanted; in an open loop, every buyer that arrived was served.
    Served,
    /// The lock does not support what the scenario requires: extensions, or the scenario's lease time.
    Declined,
    /// Every request to acquire ended in an error, although no fault had begun.
    OnlyErrors,
    /// A server died without a fault.
    NodeLost,
    /// Workers died on their own until fewer than two were left.
    TooFewClients,
    /// The proxy refused every client of every worker.
    ClientsRefused,
    /// The simulated run exceeded one of its budgets.
    BudgetSpent,
}

/// The limits of a simulated run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Budget {
    /// Events of its history, key changes included.
    Events,
    /// Bytes of its history in memory, by the capacity of the events.
    Memory,
    /// Scheduling steps of its workers, plus commands.
    Steps,
    /// Seconds of virtual time.
    VirtualTime,
}

/// The cause of death of a worker that no fault killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EndedBy {
    /// The worker exited on its own.
    Itself,
    /// A signal that the harness did not send.
    Signal,
    /// The harness, because the worker missed a deadline.
    Deadline,
    /// The harness, because the worker broke the protocol.
    Protocol,
}

/// Protocol violations of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Misbehaviour {
    /// The worker wrote a line that is not a message of the protocol.
    Garbage,
    /// The worker did not answer within the deadline.
    Hung,
    /// The worker did not answer within the deadline, because a signal that no fault sent had stopped it.
    Stopped,
    /// The worker answered a request that was not sent.
    OutOfTurn,
}

impl EndedBy {
    /// Describes the end of a worker that no fault killed. `by` is `None` if the history does not name what ended it.
    pub fn describe(by: Option<EndedBy>, worker: usize, reason: &str) -> String {
        match by {
            Some(EndedBy::Deadline | EndedBy::Protocol) => {
                format!("Picklock ended client {worker}: {reason}")
            }
            Some(EndedBy::Itself | EndedBy::Signal) | None => {
                format!("client {worker} died on its own: {reason}")
            }
        }
    }
}
