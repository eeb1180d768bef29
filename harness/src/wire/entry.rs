//! A line of the command log, as it is read.

use picklock_scenarios::{Direction, Phase};
use serde::Serialize;

/// What became of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It went on.
    Forwarded,
    /// It went on later, as a fault asked.
    Delayed,
    /// It was kept back, by a hold or a partition, and went on afterwards.
    Held,
    /// It was swallowed.
    Dropped,
    /// Its connection was cut, or broke, before it went on.
    Cut,
    /// From here on the connection carries bytes that are not RESP, and are not logged.
    Unparseable,
    /// The node could not be reached; the worker's connection was reset.
    Unreachable,
}

/// A line of the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// When it came whole to the wire, nanoseconds on the run's clock.
    pub at_ns: u64,
    /// When its first byte was about to go on. `None`: it did not.
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
    /// The command in upper case; of a reply, the one that it answers; empty: none.
    pub command: String,
    /// The lock's key that the command names, by its position in the header.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub names_key: Option<u32>,
    /// The attempt that the worker was busy with.
    pub op: u64,
    /// What the worker had been asked for.
    pub phase: Phase,
    /// Bytes on the wire.
    pub size: u64,
    /// What became of it.
    pub outcome: Outcome,
    /// Its first bytes, escaped; of a command, the words.
    pub preview: String,
}
