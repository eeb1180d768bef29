//! The workers that are alive. A worker that is restarted is the same worker in its next incarnation, so that a driver
//! loop can detect whether its own worker has died in the meantime.

use std::cell::RefCell;

use tokio::sync::Notify;

/// One worker's state.
#[derive(Debug, Clone, Copy, Default)]
struct Slot {
    incarnation: u32,
    down: bool,
    may_restart: bool,
    latest_op: u64,
}

/// Tracks which workers of a run are alive, for the driver and the nemesis.
pub struct LiveWorkers {
    slots: RefCell<Vec<Slot>>,
    restarts: Vec<Notify>,
    deaths: Vec<Notify>,
}

impl LiveWorkers {
    /// Creates the state of `workers` workers in their first incarnation, all alive.
    pub fn new(workers: usize) -> Self {
        LiveWorkers {
            slots: RefCell::new(vec![Slot::default(); workers]),
            restarts: (0..workers).map(|_| Notify::new()).collect(),
            deaths: (0..workers).map(|_| Notify::new()).collect(),
        }
    }

    /// Marks a worker as dead. `may_restart` states whether the worker may be started again. Returns `false` if the
    /// worker was already dead.
    pub fn mark_down(&self, worker: usize, may_restart: bool) -> bool {
        let mut slots = self.slots.borrow_mut();
        let slot = &mut slots[worker];
        if slot.down {
            return false;
        }
        slot.down = true;
        slot.may_restart = may_restart;
        self.deaths[worker].notify_one();
        true
    }

    /// Records the worker's latest attempt.
    pub fn set_latest_op(&self, worker: usize, op: u64) {
        if let Some(slot) = self.slots.borrow_mut().get_mut(worker) {
            slot.latest_op = op;
        }
    }

    /// Returns the worker's latest attempt, or 0 before the first.
    pub fn latest_op(&self, worker: usize) -> u64 {
        self.slots
            .borrow()
            .get(worker)
            .map_or(0, |slot| slot.latest_op)
    }

    /// Returns the number of workers that are alive or may be started again.
    pub fn remaining(&self) -> usize {
        let slots = self.slots.borrow();
        let remaining = slots.iter().filter(|slot| !slot.down || slot.may_restart);
        remaining.count()
    }

    /// Returns `true` while the worker is dead.
    pub fn is_down(&self, worker: usize) -> bool {
        self.slots.borrow()[worker].down
    }

    /// Returns `true` if this incarnation of the worker is dead, even if the worker may be started again.
    pub fn is_over(&self, worker: usize, incarnation: u32) -> bool {
        let slot = self.slots.borrow()[worker];
        slot.down || slot.incarnation != incarnation
    }

    /// Waits until this incarnation of the worker is dead.
    pub async fn death(&self, worker: usize, incarnation: u32) {
        while !self.is_over(worker, incarnation) {
            self.deaths[worker].notified().await;
        }
    }

    /// Records that a dead worker will not be started again.
    pub fn forbid_restart(&self, worker: usize) {
        self.slots.borrow_mut()[worker].may_restart = false;
        self.restarts[worker].notify_one();
    }

    /// Lets the client that waits in [`LiveWorkers::next_incarnation`] start the worker again.
    pub fn allow_restart(&self, worker: usize) {
        let mut slots = self.slots.borrow_mut();
        let slot = &mut slots[worker];
        if slot.down && slot.may_restart {
            slot.down = false;
            slot.incarnation += 1;
            self.restarts[worker].notify_one();
        }
    }

    /// Waits until a dead worker may be started again, and returns the number of its next
    /// incarnation. Returns `None` if it never restarts.
    pub async fn next_incarnation(&self, worker: usize) -> Option<u32> {
        loop {
            let slot = self.slots.borrow()[worker];
            if !slot.down {
                return Some(slot.incarnation);
            }
            if !slot.may_restart {
                return None;
            }
            self.restarts[worker].notified().await;
        }
    }
}
