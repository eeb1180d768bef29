//! Monitors in real time that the simulation's thread makes progress.
//!
//! Virtual time cannot show a lock that never yields, nor one that really sleeps. So each turn
//! of a host is marked, and the thread that waits for the simulation looks at the mark. Nothing
//! that is measured here reaches a history, except that a lock was refused.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// A turn that takes longer than this is examined, because virtual time stands still meanwhile. It
/// is long enough that a machine which stalls for a moment (its host took the processor away,
/// another process holds a lock of the kernel) is not taken for a lock that sleeps.
const LONG_TURN: Duration = Duration::from_millis(150);

/// So many turns of one simulation must have slept for long before a lock is accused of it. A thread that waits for the
/// disk, or for memory that another thread changes the map of, has given up the processor, too, and a busy machine
/// makes it wait for long.
const SLEEPS: u32 = 3;

/// How old the reading may be that a turn is compared with. What the thread did between the
/// reading and the turn can only make it look busier, never idler.
const FRESH: Duration = Duration::from_millis(50);

/// Marks the turns of a simulation's thread.
#[derive(Debug, Clone, Default)]
pub(super) struct Watchdog(Arc<TurnMark>);

#[derive(Debug, Default)]
struct TurnMark {
    /// The lower half says whose turn it is, the upper half counts the turns.
    turn: AtomicU64,
    /// The directory of the simulation's thread in `/proc`.
    thread: OnceLock<PathBuf>,
}

pub(super) struct Turn {
    since: Duration,
    before: Reading,
}

impl Watchdog {
    pub(super) fn claim_thread(&self) {
        if let Ok(own) = std::fs::read_link("/proc/thread-self") {
            // It is set only once, because a thread has one monitor.
            self.0.thread.set(Path::new("/proc").join(own)).ok();
        }
    }

    /// A simulation begins. The time before it is not part of a turn.
    pub(super) fn begin_simulation(&self) {
        LAST_END.set(roughly_now());
        SLEPT.set(0);
    }

    pub(super) fn begin(&self, worker: usize) -> Turn {
        // The upper half counts turns, so that two turns never have the same mark.
        let turns = (self.0.turn.load(Ordering::Relaxed) >> 32).wrapping_add(1);
        // The turn did not begin before the last one ended. The thread may have been busy between
        // them, but it did not sleep, so reading the clock once for each turn is enough.
        let (since, before) = Reading::fresh(LAST_END.get());
        self.0
            .turn
            .store((turns << 32) | (worker as u64 + 1), Ordering::Release);
        Turn { since, before }
    }

    /// A turn is over. `Some`: why its lock cannot be simulated.
    pub(super) fn end(&self, turn: Turn) -> Option<String> {
        let mark = self.0.turn.load(Ordering::Relaxed);
        self.0.turn.store(mark & !0xffff_ffff, Ordering::Release);
        let now = roughly_now();
        LAST_END.set(now);
        let took = now.saturating_sub(turn.since);
        if took < LONG_TURN || !turn.before.slept_for_most_of(took) {
            return None;
        }
        SLEPT.set(SLEPT.get() + 1);
        (SLEPT.get() >= SLEEPS).then(|| {
            format!(
                "refused: it slept for {} ms of real time in one turn (std::thread::sleep, or a call that blocks), and in {} before. A simulation's time stands still meanwhile; wait with tokio::time instead",
                took.as_millis(),
                SLEEPS - 1
            )
        })
    }

    /// The present mark, and the worker whose turn it is. The same mark means the same turn.
    pub(super) fn current_turn(&self) -> (u64, Option<usize>) {
        let mark = self.0.turn.load(Ordering::Acquire);
        let worker = (mark & 0xffff_ffff) as usize;
        (mark, worker.checked_sub(1))
    }

    /// How long the simulation's thread has run, in all.
    pub(super) fn ran(&self) -> Duration {
        let thread = self.0.thread.get();
        let usage = thread.and_then(|thread| Usage::read(thread));
        usage.map_or(Duration::ZERO, |usage| usage.ran)
    }

    /// True if the simulation's thread sleeps, and neither runs nor waits for a processor; also where the kernel does
    /// not say.
    pub(super) fn is_asleep(&self) -> bool {
        let stat = self.0.thread.get().map(|thread| thread.join("stat"));
        let text = stat.and_then(|stat| std::fs::read_to_string(stat).ok());
        let state = text.as_ref().and_then(|text| text.rsplit_once(") "));
        state.is_none_or(|(_, rest)| !rest.starts_with('R'))
    }
}

/// Real time since some fixed point, as of the kernel's last tick. Turns are short and many, so
/// reading it must be cheap; a few milliseconds do not matter.
fn roughly_now() -> Duration {
    #[cfg(target_os = "linux")]
    const CLOCK: ClockId = ClockId::MonotonicCoarse;
    #[cfg(not(target_os = "linux"))]
    const CLOCK: ClockId = ClockId::Monotonic;
    let time = clock_gettime(CLOCK);
    let nanos = u32::try_from(time.tv_nsec).unwrap_or(0);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), nanos)
}

/// How much a thread has run so far.
#[derive(Debug, Clone, Copy)]
struct Usage {
    ran: Duration,
    kept_waiting: Duration,
    /// How often it has given up the processor by itself.
    gave_up: u64,
}

impl Usage {
    /// `None` where the kernel does not say.
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

/// This thread's usage, a short time ago.
#[derive(Debug, Clone, Copy)]
struct Reading {
    at: Duration,
    usage: Option<Usage>,
}

impl Reading {
    /// The time, and a reading that is not older than [`FRESH`], because a reading takes longer
    /// than a turn. A new reading is not part of the turn: the time is after it.
    fn fresh(now: Duration) -> (Duration, Self) {
        LAST_READING.with(|last| {
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

    /// True when the thread gave up the processor by itself for most of that time. A thread that a
    /// busy machine has preempted was running, or waiting for a processor, all the time; one whose
    /// whole machine was stopped by its host was not, but did not give it up either.
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
    static LAST_END: std::cell::Cell<Duration> = const { std::cell::Cell::new(Duration::ZERO) };

    /// In how many turns of this thread's simulation it slept for long.
    static SLEPT: std::cell::Cell<u32> = const { std::cell::Cell::new(0) };

    static LAST_READING: std::cell::Cell<Option<Reading>> = const { std::cell::Cell::new(None) };
}
