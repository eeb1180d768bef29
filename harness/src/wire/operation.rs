//! The operation that a worker is busy with: everything that passes on its links is tagged with
//! it.

use std::sync::atomic::{AtomicU64, Ordering};

use picklock_scenarios::Phase;

/// What the driver has asked a worker for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Operation {
    /// Number of the attempt.
    pub op: u64,
    /// Which part of it.
    pub phase: Phase,
}

/// A worker's present operation, which the driver sets and the worker's links read. Both halves
/// share one word, so that the number of one attempt is never seen with the phase of another.
#[derive(Debug, Default)]
pub(super) struct CurrentOperation(AtomicU64);

impl CurrentOperation {
    pub(super) fn set(&self, operation: Operation) {
        let phase = match operation.phase {
            Phase::Idle => 0,
            Phase::Acquire => 1,
            Phase::Extend => 2,
            Phase::Release => 3,
        };
        self.0.store((operation.op << 2) | phase, Ordering::Release);
    }

    pub(super) fn get(&self) -> Operation {
        let word = self.0.load(Ordering::Acquire);
        Operation {
            op: word >> 2,
            phase: match word & 3 {
                0 => Phase::Idle,
                1 => Phase::Acquire,
                2 => Phase::Extend,
                _ => Phase::Release,
            },
        }
    }
}
