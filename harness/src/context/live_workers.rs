use std::cell::RefCell;

use tokio::sync::Notify;

/// One worker's state.
#[derive(Debug, Clone, Copy, Default)]
struct Slot {
    incarnation: u32,
    down: bool,
    comes_back: bool,
}

/// Which workers of a run are alive, for the driver and the nemesis.
pub struct LiveWorkers {
    slots: RefCell<Vec<Slot>>,
    revived: Vec<Notify>,
    killed: Vec<Notify>,
}

impl LiveWorkers {
    /// This many workers, all up, in their first incarnation.
    pub fn new(workers: usize) -> Self {
        LiveWorkers {
            slots: RefCell::new(vec![Slot::default(); workers]),
            revived: (0..workers).map(|_| Notify::new()).collect(),
            killed: (0..workers).map(|_| Notify::new()).collect(),
        }
    }

    /// Marks a worker as dead. `comes_back`: it may be started again. Returns false if it was
    /// already dead.
    pub fn mark_down(&self, worker: usize, comes_back: bool) -> bool {
        let mut slots = self.slots.borrow_mut();
        let slot = &mut slots[worker];
        if slot.down {
            return false;
        }
        slot.down = true;
        slot.comes_back = comes_back;
        self.killed[worker].notify_one();
        true
    }

    /// How many are alive, or may be started again.
    pub fn left(&self) -> usize {
        let slots = self.slots.borrow();
        let left = slots.iter().filter(|slot| !slot.down || slot.comes_back);
        left.count()
    }

    /// True while the worker is dead.
    pub fn is_down(&self, worker: usize) -> bool {
        self.slots.borrow()[worker].down
    }

    /// True when this incarnation of the worker is dead, even if the worker may be started again.
    pub fn is_over(&self, worker: usize, incarnation: u32) -> bool {
        let slot = self.slots.borrow()[worker];
        slot.down || slot.incarnation != incarnation
    }

    /// Waits until this incarnation of the worker is dead.
    pub async fn death(&self, worker: usize, incarnation: u32) {
        while !self.is_over(worker, incarnation) {
            self.killed[worker].notified().await;
        }
    }

    /// A dead worker will not be started again.
    pub fn lose(&self, worker: usize) {
        self.slots.borrow_mut()[worker].comes_back = false;
        self.revived[worker].notify_one();
    }

    /// Lets the buyer that waits in [`LiveWorkers::restart`] start the worker again.
    pub fn revive(&self, worker: usize) {
        let mut slots = self.slots.borrow_mut();
        let slot = &mut slots[worker];
        if slot.down && slot.comes_back {
            slot.down = false;
            slot.incarnation += 1;
            self.revived[worker].notify_one();
        }
    }

    /// Waits until a dead worker may be started again, and returns the number of its next
    /// incarnation. `None`: it never comes back.
    pub async fn restart(&self, worker: usize) -> Option<u32> {
        loop {
            let slot = self.slots.borrow()[worker];
            if !slot.down {
                return Some(slot.incarnation);
            }
            if !slot.comes_back {
                return None;
            }
            self.revived[worker].notified().await;
        }
    }
}
