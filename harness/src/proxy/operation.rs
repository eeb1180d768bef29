//! The operation that the driver has requested from a worker.

use picklock_scenarios::Phase;

/// An operation. Each frame on the worker's links is tagged with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Operation {
    /// Number of the attempt.
    pub op: u64,
    /// Phase of the attempt.
    pub phase: Phase,
}
