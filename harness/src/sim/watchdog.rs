//! Watches in real time that the simulation's thread goes on.
//!
//! Virtual time cannot see a subject that never gives way, nor one that really sleeps. So each
//! turn of a host is marked, and whoever waits for the simulation looks at the mark from outside.
//! Nothing that is seen here reaches a history, except that a subject was refused for it.

#![expect(
    clippy::disallowed_methods,
    reason = "real time is what is watched here, and it decides nothing but that a run is stuck"
)]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A turn that takes longer than this is looked at: virtual time stands still meanwhile.
const LONG_TURN: Duration = Duration::from_millis(50);

/// The mark that a simulation's thread makes.
#[derive(Debug, Clone, Default)]
pub(super) struct Beat(Arc<AtomicU64>);

/// Which worker's turn it is, and since when.
pub(super) struct Running {
    beat: Beat,
    since: Instant,
}

impl Beat {
    /// A worker's turn begins.
    pub(super) fn begin(&self, worker: usize) -> Running {
        // The upper half counts turns, so that two turns never look the same.
        let turns = (self.0.load(Ordering::Relaxed) >> 32).wrapping_add(1);
        self.0
            .store((turns << 32) | (worker as u64 + 1), Ordering::Release);
        Running {
            beat: self.clone(),
            since: Instant::now(),
        }
    }

    /// What the mark shows: unchanged and not idle means the same turn.
    pub(super) fn look(&self) -> (u64, Option<usize>) {
        let mark = self.0.load(Ordering::Acquire);
        let worker = (mark & 0xffff_ffff) as usize;
        (mark, worker.checked_sub(1))
    }
}

impl Running {
    /// The turn is over. `Some`: why its subject cannot be simulated.
    pub(super) fn end(self) -> Option<String> {
        let mark = self.beat.0.load(Ordering::Relaxed);
        self.beat.0.store(mark & !0xffff_ffff, Ordering::Release);
        let took = self.since.elapsed();
        if took < LONG_TURN || !slept_since(took) {
            return None;
        }
        Some(
            "refused: it slept in real time (a blocking call, or std::thread::sleep), which stops every other worker of a simulation; wait with tokio::time"
                .to_owned(),
        )
    }
}

/// True when the thread gave up the processor by itself for most of the time. A thread that was
/// only pushed aside by a busy machine has used, or wanted, its processor all the while.
fn slept_since(took: Duration) -> bool {
    let Ok(stat) = std::fs::read_to_string("/proc/thread-self/schedstat") else {
        return false;
    };
    let mut words = stat
        .split_whitespace()
        .filter_map(|word| word.parse::<u64>().ok());
    let (Some(ran_ns), Some(waited_ns)) = (words.next(), words.next()) else {
        return false;
    };
    LAST.with(|last| {
        let (ran_before, waited_before) = last.replace((ran_ns, waited_ns));
        let busy = (ran_ns - ran_before) + (waited_ns - waited_before);
        Duration::from_nanos(busy) < took / 2
    })
}

thread_local! {
    /// Processor time used and waited for when it was last looked at; it only ever grows, so a
    /// first look can only excuse a turn, never accuse it.
    static LAST: std::cell::Cell<(u64, u64)> = const { std::cell::Cell::new((0, 0)) };
}
