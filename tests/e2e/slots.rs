//! Limits the number of parallel runs. Runs mostly wait, so a few more than the number of cores do not disturb each
//! other. With many more, delayed runs are inconclusive and must be repeated.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Maximum total weight of all runs.
const ROOM: usize = 6;

/// Weight of a table, which performs several runs at a time.
pub const TABLE: usize = 4;

/// The free capacity and the queue for it. The queue is first come, first served: otherwise a heavy run would wait
/// until all light ones are over, and then run alone.
struct Room {
    free: usize,
    /// Ticket numbers of the waiting runs, in the order of arrival.
    waiting: VecDeque<u64>,
    next: u64,
}

static ALL: Mutex<Room> = Mutex::new(Room {
    free: ROOM,
    waiting: VecDeque::new(),
    next: 0,
});
static CHANGED: Condvar = Condvar::new();

fn room() -> MutexGuard<'static, Room> {
    ALL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A slot to run in, released when it is dropped.
pub struct Slot(usize);

impl Slot {
    /// Waits for a slot. A container has a larger weight than a process.
    pub fn take(weight: usize) -> Slot {
        let weight = weight.min(ROOM);
        let mut room = room();
        let number = room.next;
        room.next += 1;
        room.waiting.push_back(number);
        let must_wait =
            |room: &mut Room| room.waiting.front() != Some(&number) || room.free < weight;
        let mut room = CHANGED
            .wait_while(room, must_wait)
            .unwrap_or_else(PoisonError::into_inner);
        room.waiting.pop_front();
        room.free -= weight;
        drop(room);
        // The next run may fit as well.
        CHANGED.notify_all();
        Slot(weight)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        room().free += self.0;
        CHANGED.notify_all();
    }
}
