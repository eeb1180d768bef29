//! Who is alive: what driver and nemesis must agree on about the workers.

use std::cell::RefCell;

use tokio::sync::Notify;

/// One worker's state.
#[derive(Debug, Clone, Copy, Default)]
struct Slot {
    incarnation: u32,
    down: bool,
    comes_back: bool,
}

/// The workers of a run.
pub struct Roster {
    slots: RefCell<Vec<Slot>>,
    revived: Vec<Notify>,
    felled: Vec<Notify>,
}

impl Roster {
    /// So many workers, all up, in their first incarnation.
    pub fn new(workers: usize) -> Self {
        Roster {
            slots: RefCell::new(vec![Slot::default(); workers]),
            revived: (0..workers).map(|_| Notify::new()).collect(),
            felled: (0..workers).map(|_| Notify::new()).collect(),
        }
    }

    /// Marks a worker as dead. False: it was dead already.
    pub fn mark_down(&self, worker: usize, comes_back: bool) -> bool {
        let mut slots = self.slots.borrow_mut();
        let slot = &mut slots[worker];
        if slot.down {
            return false;
        }
        slot.down = true;
        slot.comes_back = comes_back;
        self.felled[worker].notify_one();
        true
    }

    /// True while the worker is dead.
    pub fn is_down(&self, worker: usize) -> bool {
        self.slots.borrow()[worker].down
    }

    /// True when that life of the worker is over, whether or not it may begin another.
    pub fn is_over(&self, worker: usize, incarnation: u32) -> bool {
        let slot = self.slots.borrow()[worker];
        slot.down || slot.incarnation != incarnation
    }

    /// Waits until that life of the worker is over.
    pub async fn death(&self, worker: usize, incarnation: u32) {
        while !self.is_over(worker, incarnation) {
            self.felled[worker].notified().await;
        }
    }

    /// Lets whoever waits in [`Roster::revival`] start the worker anew.
    pub fn revive(&self, worker: usize) {
        let mut slots = self.slots.borrow_mut();
        let slot = &mut slots[worker];
        if slot.down && slot.comes_back {
            slot.down = false;
            slot.incarnation += 1;
            self.revived[worker].notify_one();
        }
    }

    /// Waits until a dead worker may start anew; the number of its next incarnation. `None`: it
    /// never comes back.
    pub async fn revival(&self, worker: usize) -> Option<u32> {
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
