//! Watches in real time that the simulation's thread goes on.
//!
//! Virtual time cannot see a subject that never gives way, nor one that really sleeps. So each
//! turn of a host is marked, and whoever waits for the simulation looks at the mark from outside.
//! Nothing that is seen here reaches a history, except that a subject was refused for it.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// A turn that takes longer than this is looked at: virtual time stands still meanwhile. Long
/// enough that a machine which stalls for a moment (its host took the processor away, a neighbour
/// holds a lock of the kernel) is not taken for a subject that sleeps.
const LONG_TURN: Duration = Duration::from_millis(150);

/// How old the reading may be that a turn is compared with. What the thread did between the
/// reading and the turn can only excuse the turn, never accuse it.
const FRESH: Duration = Duration::from_millis(20);

/// The mark that a simulation's thread makes.
#[derive(Debug, Clone, Default)]
pub(super) struct Beat(Arc<Mark>);

#[derive(Debug, Default)]
struct Mark {
    /// The lower half says whose turn it is, the upper half counts the turns.
    turn: AtomicU64,
    /// Where the kernel tells what the simulation's thread does.
    thread: OnceLock<PathBuf>,
}

/// Which worker's turn it is, and since when.
pub(super) struct Running {
    since: Duration,
    before: Reading,
}

impl Beat {
    /// Says that this is the simulation's thread.
    pub(super) fn claim_thread(&self) {
        if let Ok(own) = std::fs::read_link("/proc/thread-self") {
            // Set a second time only if one simulation were run twice.
            self.0.thread.set(Path::new("/proc").join(own)).ok();
        }
    }

    /// A simulation begins. What was before it is part of no turn.
    pub(super) fn set_out(&self) {
        LOOKED.set(roughly_now());
    }

    /// A worker's turn begins.
    pub(super) fn begin(&self, worker: usize) -> Running {
        // The upper half counts turns, so that two turns never look the same.
        let turns = (self.0.turn.load(Ordering::Relaxed) >> 32).wrapping_add(1);
        // It did not begin sooner than the last turn ended. Between turns nobody sleeps, and who
        // was busy is not accused; so that one look at the clock is enough for each turn.
        let (since, before) = Reading::fresh(LOOKED.get());
        self.0
            .turn
            .store((turns << 32) | (worker as u64 + 1), Ordering::Release);
        Running { since, before }
    }

    /// The turn is over. `Some`: why its subject cannot be simulated.
    pub(super) fn end(&self, running: Running) -> Option<String> {
        let mark = self.0.turn.load(Ordering::Relaxed);
        self.0.turn.store(mark & !0xffff_ffff, Ordering::Release);
        let now = roughly_now();
        LOOKED.set(now);
        let took = now.saturating_sub(running.since);
        if took < LONG_TURN || !running.before.slept_for_most_of(took) {
            return None;
        }
        Some(format!(
            "refused: it slept for {} ms of real time in one turn (std::thread::sleep, or a call that blocks). A simulation's time stands still meanwhile; wait with tokio::time instead",
            took.as_millis()
        ))
    }

    /// What the mark shows: unchanged and not idle means the same turn.
    pub(super) fn look(&self) -> (u64, Option<usize>) {
        let mark = self.0.turn.load(Ordering::Acquire);
        let worker = (mark & 0xffff_ffff) as usize;
        (mark, worker.checked_sub(1))
    }

    /// How long the simulation's thread has been kept from running by other threads, in all.
    pub(super) fn kept_waiting(&self) -> Duration {
        let thread = self.0.thread.get();
        let reading = thread.and_then(|thread| Usage::read(thread));
        reading.map_or(Duration::ZERO, |usage| usage.kept_waiting)
    }
}

/// Real time since some moment, as of the kernel's last tick: turns are short and many, so a look
/// must cost next to nothing, and a few milliseconds more or less decide nothing here.
#[cfg(target_os = "linux")]
fn roughly_now() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::MonotonicCoarse);
    let nanos = u32::try_from(time.tv_nsec).unwrap_or(0);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), nanos)
}

/// Real time since some moment.
#[cfg(not(target_os = "linux"))]
fn roughly_now() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    let nanos = u32::try_from(time.tv_nsec).unwrap_or(0);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), nanos)
}

/// What a thread has done so far.
#[derive(Debug, Clone, Copy)]
struct Usage {
    ran: Duration,
    kept_waiting: Duration,
    /// How often it gave up the processor by itself.
    gave_up: u64,
}

impl Usage {
    /// `None` where the kernel does not tell.
    fn read(thread: &Path) -> Option<Self> {
        let stat = std::fs::read_to_string(thread.join("schedstat")).ok()?;
        let mut words = stat.split_whitespace();
        let mut next = || Some(Duration::from_nanos(words.next()?.parse().ok()?));
        let (ran, kept_waiting) = (next()?, next()?);
        let status = std::fs::read_to_string(thread.join("status")).ok()?;
        let mut fields = status.lines().filter_map(|line| line.split_once(':'));
        let (_, gave_up) = fields.find(|(name, _)| *name == "voluntary_ctxt_switches")?;
        Some(Usage {
            ran,
            kept_waiting,
            gave_up: gave_up.trim().parse().ok()?,
        })
    }

    fn of_this_thread() -> Option<Self> {
        Usage::read(Path::new("/proc/thread-self"))
    }
}

/// A look at this thread's usage, a little while ago.
#[derive(Debug, Clone, Copy)]
struct Reading {
    at: Duration,
    usage: Option<Usage>,
}

impl Reading {
    /// Not older than [`FRESH`]: reading takes longer than a turn does. Also what time it is
    /// afterwards: a reading itself is not part of the turn.
    fn fresh(now: Duration) -> (Duration, Self) {
        LAST.with(|last| {
            let reading = last.get();
            if let Some(reading) = reading.filter(|last| now.saturating_sub(last.at) < FRESH) {
                return (now, reading);
            }
            let reading = Reading {
                at: now,
                usage: Usage::of_this_thread(),
            };
            last.set(Some(reading));
            (roughly_now(), reading)
        })
    }

    /// True when the thread gave up the processor by itself for most of that time. A thread that
    /// was only pushed aside by a busy machine has used, or wanted, its processor all the while;
    /// one whose whole machine was stopped by its host has not, but did not give it up either.
    fn slept_for_most_of(self, took: Duration) -> bool {
        let (Some(before), Some(now)) = (self.usage, Usage::of_this_thread()) else {
            return false;
        };
        if now.gave_up == before.gave_up {
            return false;
        }
        let busy = (now.ran - before.ran) + (now.kept_waiting - before.kept_waiting);
        busy < took / 2
    }
}

thread_local! {
    /// What time it was when a turn of this thread last ended.
    static LOOKED: std::cell::Cell<Duration> = const { std::cell::Cell::new(Duration::ZERO) };

    static LAST: std::cell::Cell<Option<Reading>> = const { std::cell::Cell::new(None) };
}
