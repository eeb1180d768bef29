//! How many runs go on at the same time. They mostly wait, so a few more than there are cores do
//! not disturb each other; many more would.

use std::sync::{Condvar, Mutex, PoisonError};

/// What all runs together may weigh.
const ROOM: usize = 6;

static FREE: Mutex<usize> = Mutex::new(ROOM);
static FREED: Condvar = Condvar::new();

/// A place to run in, until it is dropped.
pub struct Slot(usize);

impl Slot {
    /// Waits for room. A container weighs more than a process.
    pub fn take(weight: usize) -> Slot {
        let weight = weight.min(ROOM);
        let free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
        let mut free = FREED
            .wait_while(free, |free| *free < weight)
            .unwrap_or_else(PoisonError::into_inner);
        *free -= weight;
        Slot(weight)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        *FREE.lock().unwrap_or_else(PoisonError::into_inner) += self.0;
        FREED.notify_all();
    }
}
