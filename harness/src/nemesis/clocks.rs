//! The offset of each wall clock, and the faults that have set it.
//!
//! The shifts of one clock add up, and may end in any order. The backend always receives the sum, so the same offset
//! may be set twice.

use std::cell::RefCell;
use std::collections::BTreeMap;

use crate::backend::{Backend, Refusal};

/// The owner of a wall clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ClockOwner {
    /// A node, with the clock of its master.
    Node(usize),
    /// A worker.
    Worker(usize),
}

/// The shifts of all clocks, in nanoseconds per fault.
#[derive(Debug, Default)]
pub(super) struct ClockShifts {
    shifts: RefCell<BTreeMap<ClockOwner, BTreeMap<u32, i64>>>,
}

impl ClockShifts {
    /// Shifts a clock for a fault.
    ///
    /// # Errors
    /// Returns an error if the backend cannot shift the clock. The clock is then unchanged.
    pub(super) async fn shift<B: Backend>(
        &self,
        backend: &B,
        clock: ClockOwner,
        fault: u32,
        by_ns: i64,
    ) -> Result<(), Refusal> {
        self.shifts
            .borrow_mut()
            .entry(clock)
            .or_default()
            .insert(fault, by_ns);
        let set = self.set(backend, clock).await;
        if set.is_err() {
            self.reset(backend, clock, fault).await;
        }
        set
    }

    /// Ends a fault's shift of a clock.
    pub(super) async fn reset<B: Backend>(&self, backend: &B, clock: ClockOwner, fault: u32) {
        if let Some(shifts) = self.shifts.borrow_mut().get_mut(&clock) {
            shifts.remove(&fault);
        }
        // A dead component cannot be reached, and gets the right offset when it restarts.
        self.set(backend, clock).await.ok();
    }

    /// Returns `true` if the end of the fault sets the clock forward.
    pub(super) fn catches_up(&self, clock: ClockOwner, fault: u32) -> bool {
        let shifts = self.shifts.borrow();
        let shift = shifts.get(&clock).and_then(|shifts| shifts.get(&fault));
        shift.is_some_and(|by_ns| *by_ns < 0)
    }

    /// Forgets the shifts of a node that has a new master, because the clock of the new master is correct.
    pub(super) fn forget_node(&self, node: usize) {
        self.shifts.borrow_mut().remove(&ClockOwner::Node(node));
    }

    async fn set<B: Backend>(&self, backend: &B, clock: ClockOwner) -> Result<(), Refusal> {
        let off_ns = {
            let shifts = self.shifts.borrow();
            let shifts_of_clock = shifts.get(&clock).into_iter().flat_map(BTreeMap::values);
            shifts_of_clock.fold(0i64, |sum, by_ns| sum.saturating_add(*by_ns))
        };
        match clock {
            ClockOwner::Node(node) => backend.set_node_clock(node, off_ns).await,
            ClockOwner::Worker(worker) => backend.set_worker_clock(worker, off_ns).await,
        }
    }
}
