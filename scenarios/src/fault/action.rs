//! The actions of faults, each of which needs a capability of the backend.
//!
//! Actions separate a kind of fault from its effect. A kind lists its actions as data; the harness's nemesis applies
//! them, and undoes them when the fault ends.

use serde::{Deserialize, Serialize};

use super::server_error::ServerError;
use super::stock_fault::StockFault;
use crate::lease_duration::LeaseDuration;
use crate::signed_duration::SignedDuration;

/// The type of a fault's targets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Affects {
    /// Workers: their processes or clocks.
    Workers,
    /// Nodes: their processes, roles, data or clocks.
    Nodes,
    /// The links between workers and nodes.
    Links,
}

/// An action on the targets of a fault.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// An action on each worker.
    Worker(WorkerAction),
    /// An action on each node.
    Node(NodeAction),
    /// An action on the data or the settings of each node.
    Data(DataAction),
    /// An action on the links between the workers and the nodes.
    Link(LinkAction),
    /// Sets the wall clocks of the workers and nodes forward or back.
    ShiftClocks(SignedDuration),
    /// An action on each worker's accesses to the stock.
    Stock(StockFault),
}

/// An action on a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkerAction {
    /// Freezes its process (SIGSTOP). Undone by resuming it.
    Freeze,
    /// Kills its process (SIGKILL). Undone by starting it again.
    Kill,
    /// Asks its process to end (SIGTERM), and kills it if it has not ended in time. Undone by starting it again.
    Terminate,
    /// Makes it block its own event loop or thread for a while, with a call that does not yield.
    Block(TaskScope),
}

/// The part of a process that a client blocks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TaskScope {
    /// The event loop, with all clients that it serves.
    #[default]
    Loop,
    /// The thread of the client.
    Thread,
}

/// An action on a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeAction {
    /// Freezes it. Undone by resuming it.
    Pause,
    /// Kills it. Undone by starting it again, with the data that its persistence kept.
    Crash,
    /// Cuts the replication link of its replicas permanently.
    CutReplication,
    /// Promotes its first replica permanently.
    FailOver,
    /// Freezes its master until the Sentinels have promoted a replica. Undone by resuming the old master, which the
    /// Sentinels then make a replica. A fault with this action must have no other action, because the history records
    /// it as several faults.
    FailOverBySentinels,
}

/// An action on the data or the settings of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DataAction {
    /// Deletes the keys of these locks, given by number from 0, or of all locks if `None`.
    Evict(Option<Vec<usize>>),
    /// Deletes all keys.
    FlushAll,
    /// Deletes all scripts.
    FlushScripts,
    /// Exhausts a resource. Undone by making it available again.
    Exhaust(Resource),
}

/// An action on links. All but `Reset` are undone by removing the fault from the links.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LinkAction {
    /// Delays commands or replies.
    Delay {
        /// The minimum delay.
        by: LeaseDuration,
        /// The maximum additional delay.
        jitter: LeaseDuration,
    },
    /// Drops commands or replies, and everything that follows them on their connection.
    Drop,
    /// Answers commands with an error.
    Answer {
        /// The error. Only commands that a server in that state would refuse are affected.
        error: ServerError,
        /// Whether the server still executes the commands.
        executed: bool,
    },
    /// Holds commands or replies back, in order, until the action is undone.
    Hold,
    /// Lets nothing pass; new connections hang.
    Partition,
    /// Resets open connections.
    Reset,
}

/// A resource of a node that can be exhausted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Resource {
    /// Memory (`maxmemory` with `noeviction`): commands that may need more get an OOM error.
    Memory,
    /// Connections (`maxclients`): new ones get an error and are closed; open ones stay.
    Connections,
}

/// An ability that a backend may or may not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Capability {
    /// Freezing, terminating and killing workers.
    Workers,
    /// Pausing nodes.
    PauseNodes,
    /// Crashing nodes, and restarting them with what their persistence kept.
    CrashNodes,
    /// Cutting replication, and promoting a replica.
    Replication,
    /// Failover by Redis Sentinels.
    Sentinels,
    /// Changing data and settings of nodes.
    Data,
    /// Faults of links.
    Links,
    /// Setting workers' wall clocks.
    WorkerClocks,
    /// Setting nodes' wall clocks.
    NodeClocks,
}

impl Action {
    /// Returns the capability that the backend needs for this action on these targets, or `None` if the driver
    /// performs it.
    pub(super) fn needs(&self, affects: Affects) -> Option<Capability> {
        Some(match self {
            Action::Worker(_) => Capability::Workers,
            Action::Node(NodeAction::Pause) => Capability::PauseNodes,
            Action::Node(NodeAction::Crash) => Capability::CrashNodes,
            Action::Node(NodeAction::CutReplication | NodeAction::FailOver) => {
                Capability::Replication
            }
            Action::Node(NodeAction::FailOverBySentinels) => Capability::Sentinels,
            Action::Data(_) => Capability::Data,
            Action::Link(_) => Capability::Links,
            Action::ShiftClocks(_) if affects == Affects::Workers => Capability::WorkerClocks,
            Action::ShiftClocks(_) => Capability::NodeClocks,
            Action::Stock(_) => return None,
        })
    }
}
