use picklock_scenarios::{Direction, Phase};
use serde::Serialize;

/// What happened to a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FrameOutcome {
    /// It went on at once.
    Forwarded,
    /// It went on after the delay of a fault.
    Delayed,
    /// A hold or a partition kept it back, and it went on afterwards.
    Held,
    /// A fault dropped it.
    Dropped,
    /// A fault answered it with an error: a command that its server never saw, or a reply that was
    /// replaced.
    Answered,
    /// Its connection was cut, or broke, before it went on.
    Cut,
    /// From here on the connection carries bytes that are not RESP; they are not logged.
    Unparseable,
    /// The node could not be reached; the worker's connection was reset.
    Unreachable,
}

/// A line of the command log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LogEntry {
    /// When the proxy had received it whole, in nanoseconds on the run's clock.
    pub at_ns: u64,
    /// When its first byte was about to go on, on the same clock. `None`: it never did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sent_ns: Option<u64>,
    /// Number of the worker.
    pub worker: usize,
    /// Number of the node.
    pub node: usize,
    /// Number of the connection; no two of a run share one.
    pub conn: u64,
    /// A command, or a reply.
    pub direction: Direction,
    /// The command in upper case; for a reply, the one that it answers; empty if there is none.
    pub command: String,
    /// The lock's key that the command names, by its position in the log's header.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub names_key: Option<u32>,
    /// The attempt that the worker was busy with.
    pub op: u64,
    /// What the worker was asked for in it.
    pub phase: Phase,
    /// Bytes on the wire.
    pub size: u64,
    /// What happened to it.
    pub outcome: FrameOutcome,
    /// Its first bytes, escaped; for a command, its first words.
    pub preview: String,
}
