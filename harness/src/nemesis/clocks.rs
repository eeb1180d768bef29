//! By how much each wall clock is off, and which faults have set it.
//!
//! Faults of one clock add up, and may end in any order. The backend is always told the sum, so
//! telling it twice does no harm.

use std::cell::RefCell;
use std::collections::BTreeMap;

use crate::backend::{Backend, Refusal};

/// Whose clock it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ClockOf {
    /// The node's: that of its master.
    Node(usize),
    /// The worker's.
    Worker(usize),
}

/// All clocks that are off: by how many nanoseconds each fault has shifted each of them.
#[derive(Debug, Default)]
pub(super) struct ClockShifts {
    shifts: RefCell<BTreeMap<ClockOf, BTreeMap<u32, i64>>>,
}

impl ClockShifts {
    /// A fault shifts a clock.
    /// `Err`: the backend cannot do it. Then the clock is what it was.
    pub(super) async fn shift<B: Backend>(
        &self,
        backend: &B,
        clock: ClockOf,
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

    /// A fault's shift of a clock ends.
    pub(super) async fn reset<B: Backend>(&self, backend: &B, clock: ClockOf, fault: u32) {
        if let Some(shifts) = self.shifts.borrow_mut().get_mut(&clock) {
            shifts.remove(&fault);
        }
        // A dead one has the right offset when it comes back, and cannot be asked before.
        self.set(backend, clock).await.ok();
    }

    /// The node has another master now, whose clock is right.
    pub(super) fn replaced(&self, node: usize) {
        self.shifts.borrow_mut().remove(&ClockOf::Node(node));
    }

    async fn set<B: Backend>(&self, backend: &B, clock: ClockOf) -> Result<(), Refusal> {
        let off_ns = {
            let shifts = self.shifts.borrow();
            let of_it = shifts.get(&clock).into_iter().flat_map(BTreeMap::values);
            of_it.fold(0i64, |sum, by_ns| sum.saturating_add(*by_ns))
        };
        match clock {
            ClockOf::Node(node) => backend.set_node_clock(node, off_ns).await,
            ClockOf::Worker(worker) => backend.set_worker_clock(worker, off_ns).await,
        }
    }
}
