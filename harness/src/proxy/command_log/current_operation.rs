//! A worker's current operation. All frames on the worker's links are tagged with it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};

use picklock_scenarios::Phase;

use crate::proxy::command_log::acquire_traffic::AcquireTraffic;
use crate::proxy::lock;
use crate::proxy::operation::Operation;

/// A worker's current operation, which the driver sets and the worker's links read.
#[derive(Debug, Default)]
pub(in crate::proxy) struct CurrentOperation {
    /// Number and phase in one word, so that they are always read together.
    word: AtomicU64,
    /// Statistics of the commands that the worker sends.
    traffic: Mutex<AcquireTraffic>,
}

impl CurrentOperation {
    pub(in crate::proxy) fn set(&self, operation: Operation, at_ns: u64) {
        let Operation { op, phase } = operation;
        self.traffic().begin(op, phase, at_ns);
        let phase = match phase {
            Phase::Idle => 0,
            Phase::Acquire => 1,
            Phase::Extend => 2,
            Phase::Release => 3,
        };
        self.word.store((op << 2) | phase, Ordering::Release);
    }

    /// Returns the statistics of the commands that the worker sends.
    pub(in crate::proxy) fn traffic(&self) -> MutexGuard<'_, AcquireTraffic> {
        lock(&self.traffic)
    }

    pub(in crate::proxy) fn get(&self) -> Operation {
        let word = self.word.load(Ordering::Acquire);
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
