//! The public form of a line of the command log, as `commands.jsonl` contains it.

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
    /// A fault dropped the frame.
    Dropped,
    /// A fault answered the command with an error. A request with this outcome did not reach its server, and a reply
    /// with this outcome was replaced.
    Answered,
    /// The connection was cut or broke before the frame was forwarded.
    Cut,
    /// From this point on, the connection carries bytes that are not RESP and are not logged.
    Unparseable,
    /// The node could not be reached; the worker's connection was reset.
    Unreachable,
}

/// A line of the command log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LogEntry {
    /// When the proxy had received the whole frame, in nanoseconds on the run's clock.
    pub at_ns: u64,
    /// When the proxy was about to forward the frame's first byte, on the same clock, or `None` if the frame was never
    /// forwarded.
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
    /// The command in upper case. For a reply, the command that it answers. Empty if there is no command.
    pub command: String,
    /// The lock's key that the command names, as an index into the list in the log's header, or `None` if it names
    /// none.
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
