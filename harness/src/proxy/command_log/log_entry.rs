use picklock_scenarios::{Direction, Phase};
use serde::Serialize;

/// The outcome of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FrameOutcome {
    /// The frame was forwarded at once.
    Forwarded,
    /// The frame was forwarded after the delay of a fault.
    Delayed,
    /// The frame was forwarded after a hold or a partition had kept it back.
    Held,
    /// A fault dropped it.
    Dropped,
    /// A fault answered it with an error. A request did not reach its server; a reply was replaced.
    Answered,
    /// Its connection was cut or broke before it was forwarded.
    Cut,
    /// From here on the connection carries bytes that are not RESP and are not logged.
    Unparseable,
    /// The node could not be reached; the worker's connection was reset.
    Unreachable,
}

/// A line of the command log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LogEntry {
    /// When the proxy had received the whole frame, in nanoseconds on the run's clock.
    pub at_ns: u64,
    /// When the proxy was about to forward its first byte, on the same clock, or `None` if it was never forwarded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sent_ns: Option<u64>,
    /// Number of the worker.
    pub worker: usize,
    /// Number of the node.
    pub node: usize,
    /// Number of the connection, unique within a run.
    pub conn: u64,
    /// Whether the frame is a command or a reply.
    pub direction: Direction,
    /// The command, or for a reply the command that it answers, in upper case. Empty if there is none.
    pub command: String,
    /// The lock's key that the command names, as an index into the list in the log's header.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub names_key: Option<u32>,
    /// The worker's attempt in progress.
    pub op: u64,
    /// The phase of that attempt.
    pub phase: Phase,
    /// Size in bytes.
    pub size: u64,
    /// The outcome of the frame.
    pub outcome: FrameOutcome,
    /// The first words of a command, or the first bytes of a reply, escaped.
    pub preview: String,
}
