//! What goes wrong, and when: the vocabulary of the nemesis.

use serde::{Deserialize, Serialize};

use crate::shift::Shift;
use crate::span::Span;

/// One fault of a plan: what, to whom, and at which moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FaultPlan {
    /// What goes wrong.
    pub kind: FaultKind,
    /// Strike at this time after the workload began. Give this or `when`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Span>,
    /// Strike at this event. Give this or `at`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<Trigger>,
    /// How long it lasts; left out: for good (for `crash-client`, `crash-node`: never restarted).
    #[serde(default, rename = "for", skip_serializing_if = "Option::is_none")]
    pub duration: Option<Span>,
    /// Which worker (client faults), and whose links (link faults). Left out: for client faults
    /// the one at whom the moment happened, for link faults all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workers: Option<Workers>,
    /// Which nodes (node faults, link faults). Left out: for node faults the one at which the
    /// moment happened, for link faults all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<Nodes>,
    /// Link faults: which way. Left out: both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub direction: Option<Direction>,
    /// `delay`: how late each command or reply comes. `clock-jump`, `clock-skew`: by how much the
    /// clock is set forward, or back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Shift>,
    /// `delay`: up to this much more, drawn evenly.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter: Option<Span>,
    /// `drop`, `delay`, `hold`: only so many frames (left out: all while the fault lasts). With a
    /// `when` on a request or reply and `frames = 1` it is the very frame that set it off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frames: Option<u32>,
    /// `evict`: the keys of which locks, by number from 0. Left out: of every lock of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keys: Option<Vec<usize>>,
    /// `exhaust`: what the node has no more of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub what: Option<Resource>,
    /// A world that cannot do this fault may leave it out; else the run is `unknown`.
    #[serde(default)]
    pub optional: bool,
}

/// The kinds of faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FaultKind {
    /// The worker's process is frozen (SIGSTOP), then thawed.
    PauseClient,
    /// The worker's process is killed (SIGKILL), and started anew after `for`.
    CrashClient,
    /// Commands or replies come later.
    Delay,
    /// Commands or replies are swallowed; the connection stays open.
    Drop,
    /// Commands or replies are kept back in order, and let go at the end.
    Hold,
    /// The links' connections are reset.
    Cut,
    /// Nothing passes between these workers and these nodes; new connections hang.
    Partition,
    /// The node is frozen, then thawed.
    PauseNode,
    /// The node is killed, and started anew after `for`.
    CrashNode,
    /// The node's replicas lose their link to it for good: what it takes from now on they never
    /// get.
    CutReplication,
    /// The node's first replica is promoted; the old master is gone, and the links lead to the new
    /// one. What had reached the replica is there, and no more; unless the replication was cut
    /// before, that is everything.
    Failover,
    /// The node's master is frozen until the Sentinels have promoted its replica; `for` later it
    /// is thawed, and is a stale master until they make it a replica. Left out: it stays frozen.
    SentinelFailover,
    /// The keys of locks are deleted on the node, as eviction under `maxmemory` would do it.
    Evict,
    /// Every key of the node is deleted (FLUSHALL).
    FlushAll,
    /// The node forgets its scripts (SCRIPT FLUSH): EVALSHA answers NOSCRIPT.
    FlushScripts,
    /// The node runs out of something, and refuses what needs it.
    Exhaust,
    /// The node's wall clock leaps, and leaps back after `for`.
    ClockJump,
    /// The worker's wall clock is wrong, and right again after `for`.
    ClockSkew,
}

impl FaultKind {
    /// The word that scenario files use.
    pub fn word(self) -> &'static str {
        match self {
            FaultKind::PauseClient => "pause-client",
            FaultKind::CrashClient => "crash-client",
            FaultKind::Delay => "delay",
            FaultKind::Drop => "drop",
            FaultKind::Hold => "hold",
            FaultKind::Cut => "cut",
            FaultKind::Partition => "partition",
            FaultKind::PauseNode => "pause-node",
            FaultKind::CrashNode => "crash-node",
            FaultKind::CutReplication => "cut-replication",
            FaultKind::Failover => "failover",
            FaultKind::SentinelFailover => "sentinel-failover",
            FaultKind::Evict => "evict",
            FaultKind::FlushAll => "flush-all",
            FaultKind::FlushScripts => "flush-scripts",
            FaultKind::Exhaust => "exhaust",
            FaultKind::ClockJump => "clock-jump",
            FaultKind::ClockSkew => "clock-skew",
        }
    }

    /// True for faults of a worker (its process or its clock), as against nodes and links.
    pub fn is_of_a_client(self) -> bool {
        matches!(
            self,
            FaultKind::PauseClient | FaultKind::CrashClient | FaultKind::ClockSkew
        )
    }

    /// True for faults of somebody's wall clock.
    pub fn is_of_a_clock(self) -> bool {
        matches!(self, FaultKind::ClockJump | FaultKind::ClockSkew)
    }

    /// True for faults of a node (its process, role, data or clock), as against clients and links.
    pub fn is_of_a_node(self) -> bool {
        matches!(
            self,
            FaultKind::PauseNode
                | FaultKind::CrashNode
                | FaultKind::CutReplication
                | FaultKind::Failover
                | FaultKind::SentinelFailover
                | FaultKind::Evict
                | FaultKind::FlushAll
                | FaultKind::FlushScripts
                | FaultKind::Exhaust
                | FaultKind::ClockJump
        )
    }
}

/// What a node can run out of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Resource {
    /// Memory (`maxmemory` with `noeviction`): commands that may need more get an OOM error.
    Memory,
    /// Connections (`maxclients`): a new one is told so and closed; those that are there stay.
    Connections,
}

/// Which way a message goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// From worker to node.
    Request,
    /// From node to worker.
    Reply,
}

/// Which workers a fault strikes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Workers {
    /// By number, from 0.
    List(Vec<usize>),
    /// `"same"`, `"others"` or `"all"`.
    Word(Who),
}

/// Which nodes a fault strikes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Nodes {
    /// By number, from 0.
    List(Vec<usize>),
    /// `"same"`, `"others"` or `"all"`.
    Word(Who),
}

/// A group named by where the moment happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Who {
    /// The one at which the moment happened.
    Same,
    /// All but that one.
    Others,
    /// Every one.
    All,
}

/// An event that sets a fault off. All that is given must match; each fault strikes once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trigger {
    /// What happens.
    pub on: EventKind,
    /// At this worker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<usize>,
    /// `stock-read`, `stock-changed`: this much was read, or is left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stock: Option<i64>,
    /// `request`, `reply`: at this node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<usize>,
    /// `request`, `reply`: of this command, in any case (`"EXPIRE"`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// `request`, `reply`: of a command that names the lock's key.
    #[serde(default)]
    pub names_key: bool,
    /// `reply`: only such as are no errors (a `NOSCRIPT`, an `OOM`): what was asked for was done.
    #[serde(default)]
    pub success: bool,
    /// `request`, `reply`: while the worker is busy with this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub during: Option<Phase>,
    /// Strike at the n-th such event, counted from 1.
    #[serde(default = "first")]
    pub nth: u32,
}

fn first() -> u32 {
    1
}

/// The events that can set a fault off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EventKind {
    /// A worker was told to acquire; the request is on its way.
    Acquire,
    /// A grant arrived at the driver.
    Granted,
    /// A holder read the stock.
    StockRead,
    /// A holder changed the stock.
    StockChanged,
    /// A worker is about to be told to release.
    Release,
    /// A worker's command has come whole to the wire, and is about to be forwarded.
    Request,
    /// A node's reply has come whole to the wire, and is about to be delivered.
    Reply,
}

/// What a worker is busy with, as the driver asked it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// Nothing was asked, or it was answered.
    Idle,
    /// Asked to acquire.
    Acquire,
    /// Asked to extend.
    Extend,
    /// Asked to release.
    Release,
}
