//! How many runs go on at the same time. They mostly wait, so a few more than there are cores do
//! not disturb each other; many more would: who is held up cannot be judged, and runs again.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// What all runs together may weigh.
const ROOM: usize = 9;

/// What a table weighs, which makes several runs at a time.
pub const TABLE: usize = 4;

/// Who has room, and who waits for it. Nobody overtakes: a heavy run would wait until all light ones are over,
/// and then be alone.
struct Room {
    free: usize,
    /// The numbers of those that wait, in the order in which they came.
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

/// A place to run in, until it is dropped.
pub struct Slot(usize);

impl Slot {
    /// Waits for room. A container weighs more than a process.
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
        // There may be room for the next one as well.
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
