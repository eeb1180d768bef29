//! What the driver asked a worker for: stamped on everything that passes on its links.

use std::sync::atomic::{AtomicU64, Ordering};

use picklock_scenarios::Phase;

/// What a worker is busy with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    /// Number of the attempt.
    pub op: u64,
    /// Which part of it.
    pub phase: Phase,
}

/// A worker's stamp, which the driver sets and its links read. Both halves share one word, so
/// that nobody ever sees one attempt's number with another's phase.
#[derive(Debug, Default)]
pub(super) struct StampCell(AtomicU64);

impl StampCell {
    pub(super) fn set(&self, stamp: Stamp) {
        let phase = match stamp.phase {
            Phase::Idle => 0,
            Phase::Acquire => 1,
            Phase::Extend => 2,
            Phase::Release => 3,
        };
        self.0.store((stamp.op << 2) | phase, Ordering::Release);
    }

    pub(super) fn get(&self) -> Stamp {
        let word = self.0.load(Ordering::Acquire);
        Stamp {
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
