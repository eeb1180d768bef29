//! What faults are made of: actions, each of which needs a capability of the backend.
//!
//! This is the seam between a kind of fault and its effect. A kind names its actions here, as data;
//! the nemesis of the harness applies them, and undoes them when the fault ends.

use serde::{Deserialize, Serialize};

use super::server_error::ServerError;
use super::stock_fault::StockFault;
use crate::lease_duration::LeaseDuration;
use crate::signed_duration::SignedDuration;

/// What a kind of fault strikes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Affects {
    /// Workers: their processes or clocks.
    Workers,
    /// Nodes: their processes, roles, data or clocks.
    Nodes,
    /// The links between workers and nodes.
    Links,
}

/// Something that is done to everything that a fault strikes.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// To each worker.
    Worker(WorkerAction),
    /// To each node.
    Node(NodeAction),
    /// To the data or the settings of each node.
    Data(DataAction),
    /// To the links between the workers and the nodes.
    Link(LinkAction),
    /// The wall clocks of the workers and nodes are set forward, or back.
    ShiftClocks(SignedDuration),
    /// To the accesses of each worker to the stock.
    Stock(StockFault),
}

/// What can be done to a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkerAction {
    /// Its process is frozen (SIGSTOP). Undone: it continues.
    Freeze,
    /// Its process is killed (SIGKILL). Undone: it is started again.
    Kill,
    /// It blocks its own event loop, or thread, for a while, as a call does that never yields.
    Block(TaskScope),
}

/// What a client blocks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TaskScope {
    /// The event loop, with all clients of the process that it serves.
    #[default]
    Loop,
    /// The thread of the one client.
    Thread,
}

/// What can be done to a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeAction {
    /// It is frozen. Undone: it continues.
    Pause,
    /// It is killed. Undone: it is started again, with what its persistence kept.
    Crash,
    /// Its replicas lose their link to it, for good.
    CutReplication,
    /// Its first replica is promoted, for good.
    FailOver,
    /// Its master is frozen until the Sentinels have promoted a replica. Undone: the old master
    /// continues, and the Sentinels make it a replica. It must be the only action of its kind,
    /// because the history tells it as several faults.
    FailOverBySentinels,
}

/// What can be done to the data or the settings of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DataAction {
    /// The keys of these locks are deleted, by number from 0; `None`: of all locks.
    Evict(Option<Vec<usize>>),
    /// All keys are deleted.
    FlushAll,
    /// All scripts are deleted.
    FlushScripts,
    /// It runs out of a resource. Undone: it has it again.
    Exhaust(Resource),
}

/// What can be done to links. All but `Reset` are undone by taking the fault off the links.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LinkAction {
    /// Commands or replies arrive later.
    Delay {
        /// By this much.
        by: LeaseDuration,
        /// And up to this much more.
        jitter: LeaseDuration,
    },
    /// Commands or replies are dropped, and whatever follows them on their connection.
    Drop,
    /// Commands are answered with an error.
    Answer {
        /// The error. Only commands that it would refuse are struck.
        error: ServerError,
        /// They are executed all the same.
        executed: bool,
    },
    /// Commands or replies are kept back in order, until it is undone.
    Hold,
    /// Nothing passes, and new connections hang.
    Partition,
    /// Open connections are reset.
    Reset,
}

/// What a node can run out of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Resource {
    /// Memory (`maxmemory` with `noeviction`): commands that may need more get an OOM error.
    Memory,
    /// Connections (`maxclients`): new ones get an error and are closed; open ones stay.
    Connections,
}

/// Something that a backend may or may not be able to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Capability {
    /// Freezing and killing workers.
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
    /// What the backend must be able to do, for a fault that strikes these; `None`: the driver does it.
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
