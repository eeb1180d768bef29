//! How many runs go on at the same time. They mostly wait, so a few more than there are cores do
//! not disturb each other; many more would: who is held up cannot be judged, and runs again. So further
//! runs begin only while the processors have nothing to do.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use picklock_harness::clock::Clock;

/// What all runs together may weigh.
const ROOM: usize = 8;

/// What runs may weigh in addition, each of which began while the processors were idle.
const ROOM_WHEN_IDLE: usize = 12;

/// How often it is asked whether they are. The run that began last must have shown by then what it needs.
const ASKED_EVERY: Duration = Duration::from_secs(1);

/// They are idle if so many in a hundred of their time are free. A run takes less.
const IDLE_PER_CENT: u64 = 25;

/// What a table weighs, which makes several runs at a time.
pub const TABLE: usize = 4;

/// Who has room, and who waits for it. Nobody overtakes: a heavy run would wait until all light ones are over,
/// and then be alone.
struct Room {
    taken: usize,
    /// The numbers of those that wait, in the order in which they came.
    waiting: VecDeque<u64>,
    next: u64,
    /// The time since the processors were asked last, and what they had done by then.
    asked: Option<(Clock, Processors)>,
}

static ALL: Mutex<Room> = Mutex::new(Room {
    taken: 0,
    waiting: VecDeque::new(),
    next: 0,
    asked: None,
});
static CHANGED: Condvar = Condvar::new();

fn room() -> MutexGuard<'static, Room> {
    ALL.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Room {
    /// True if the first in the row, with this weight, may begin.
    fn has(&mut self, weight: usize) -> bool {
        let taken = self.taken + weight;
        taken <= ROOM || taken <= ROOM + ROOM_WHEN_IDLE && self.processors_are_idle()
    }

    /// True at most once in [`ASKED_EVERY`].
    fn processors_are_idle(&mut self) -> bool {
        let Some(now) = Processors::read() else {
            return false;
        };
        match &self.asked {
            Some((since, _)) if since.elapsed() < ASKED_EVERY => false,
            asked => {
                let idle = asked
                    .as_ref()
                    .is_some_and(|(_, before)| now.were_idle_since(before));
                self.asked = Some((Clock::start(), now));
                idle
            }
        }
    }
}

/// What all processors have done since the machine was started, in ticks.
struct Processors {
    idle: u64,
    all: u64,
}

impl Processors {
    /// From `/proc/stat`: `cpu`, then user, nice, system, idle, waiting for disks, and more. `None`: this system does not
    /// tell.
    fn read() -> Option<Processors> {
        let stat = std::fs::read_to_string("/proc/stat").ok()?;
        let ticks = stat.lines().next()?.split_whitespace().skip(1);
        let ticks: Vec<u64> = ticks.map_while(|ticks| ticks.parse().ok()).collect();
        Some(Processors {
            idle: ticks.get(3)? + ticks.get(4)?,
            all: ticks.iter().sum(),
        })
    }

    fn were_idle_since(&self, before: &Processors) -> bool {
        let idle = self.idle.saturating_sub(before.idle);
        let all = self.all.saturating_sub(before.all);
        idle * 100 >= all * IDLE_PER_CENT && all > 0
    }
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
            |room: &mut Room| room.waiting.front() != Some(&number) || !room.has(weight);
        while must_wait(&mut room) {
            let woken = CHANGED.wait_timeout(room, ASKED_EVERY);
            room = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
        room.waiting.pop_front();
        room.taken += weight;
        drop(room);
        // There may be room for the next one as well.
        CHANGED.notify_all();
        Slot(weight)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        room().taken -= self.0;
        CHANGED.notify_all();
    }
}
