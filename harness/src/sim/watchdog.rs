//! Checks in real time whether the simulation's thread makes progress.
//!
//! Virtual time does not reveal a lock that never yields, or that blocks its thread in a real sleep. So each turn of a
//! host is marked, and the thread that waits for the simulation reads the mark. No measured time reaches a history: the
//! watchdog can only reject a lock.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Minimum time asleep in a turn that counts as a long sleep. Virtual time stands still during a turn. The minimum is
/// long enough that a short stall of the machine, such as a CPU taken away by the hypervisor or a contended kernel
/// lock, is not mistaken for a sleeping lock.
const LONG_TURN: Duration = Duration::from_millis(150);

/// Number of turns of one simulation with a long sleep after which a lock is rejected. A single long sleep may be
/// caused by a busy machine: a thread that waits for the disk, or for another thread's change of the memory map, also
/// gives up the CPU.
const LONG_SLEEPS_TO_REJECT: u32 = 3;

/// Maximum age of the reading of the thread's CPU usage that serves as the start of a turn. Activity of the thread
/// between the reading and the turn can only make the turn look busier, never idler.
const MAX_READING_AGE: Duration = Duration::from_millis(50);

/// Marks the turns of a simulation's thread.
#[derive(Debug, Clone, Default)]
pub(super) struct Watchdog(Arc<TurnMark>);

#[derive(Debug, Default)]
struct TurnMark {
    /// The lower half contains the worker whose turn it is. The upper half counts the turns.
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
            // The path is set only once, because each thread has a separate watchdog.
            self.0.thread.set(Path::new("/proc").join(own)).ok();
        }
    }

    /// Begins a simulation. The time before it is not part of a turn.
    pub(super) fn begin_simulation(&self) {
        LAST_END.set(roughly_now());
        SLEPT.set(0);
    }

    pub(super) fn begin(&self, worker: usize) -> Turn {
        // The counter in the upper half gives every turn a different mark.
        let turns = (self.0.turn.load(Ordering::Relaxed) >> 32).wrapping_add(1);
        // The end of the last turn serves as the start of this turn, so that one reading of the clock per turn
        // suffices. Between the two turns the thread may have been busy, but it did not sleep.
        let (since, before) = Reading::fresh(LAST_END.get());
        self.0
            .turn
            .store((turns << 32) | (worker as u64 + 1), Ordering::Release);
        Turn { since, before }
    }

    /// Ends a turn. If the lock cannot be simulated, returns the reason.
    pub(super) fn end(&self, turn: Turn) -> Option<String> {
        let mark = self.0.turn.load(Ordering::Relaxed);
        self.0.turn.store(mark & !0xffff_ffff, Ordering::Release);
        let now = roughly_now();
        LAST_END.set(now);
        let elapsed = now.saturating_sub(turn.since);
        if elapsed < LONG_TURN {
            return None;
        }
        let slept = turn.before.time_asleep(elapsed);
        if slept < LONG_TURN {
            return None;
        }
        SLEPT.set(SLEPT.get() + 1);
        (SLEPT.get() >= LONG_SLEEPS_TO_REJECT).then(|| {
            format!(
                "refused: slept for {} ms of real time in one turn (std::thread::sleep, or a blocking call), and in {} turns before; virtual time does not advance during such a call, so wait with tokio::time instead",
                slept.as_millis(),
                LONG_SLEEPS_TO_REJECT - 1
            )
        })
    }

    /// Returns the mark of the current turn, and the worker whose turn it is. Two equal marks belong to the same turn.
    pub(super) fn current_turn(&self) -> (u64, Option<usize>) {
        let mark = self.0.turn.load(Ordering::Acquire);
        let worker = (mark & 0xffff_ffff) as usize;
        (mark, worker.checked_sub(1))
    }

    /// Returns the total CPU time of the simulation's thread.
    pub(super) fn cpu_time(&self) -> Duration {
        let thread = self.0.thread.get();
        let usage = thread.and_then(|thread| Usage::read(thread));
        usage.map_or(Duration::ZERO, |usage| usage.cpu_time)
    }

    /// Returns `true` if the simulation's thread is neither running nor waiting for a CPU, or if its state cannot be
    /// read.
    pub(super) fn is_asleep(&self) -> bool {
        let stat = self.0.thread.get().map(|thread| thread.join("stat"));
        let text = stat.and_then(|stat| std::fs::read_to_string(stat).ok());
        let state = text.as_ref().and_then(|text| text.rsplit_once(") "));
        state.is_none_or(|(_, rest)| !rest.starts_with('R'))
    }
}

/// Returns the time of the kernel's last tick on the monotonic clock. Turns are short and frequent, so reading the time
/// must be cheap, and an error of a few milliseconds is acceptable.
fn roughly_now() -> Duration {
    #[cfg(target_os = "linux")]
    const CLOCK: ClockId = ClockId::MonotonicCoarse;
    #[cfg(not(target_os = "linux"))]
    const CLOCK: ClockId = ClockId::Monotonic;
    let time = clock_gettime(CLOCK);
    let nanos = u32::try_from(time.tv_nsec).unwrap_or(0);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), nanos)
}

/// The CPU usage of a thread so far.
#[derive(Debug, Clone, Copy)]
struct Usage {
    cpu_time: Duration,
    waited: Duration,
    /// Number of times the thread has given up the CPU voluntarily.
    voluntary_switches: u64,
}

impl Usage {
    /// Reads the usage. Returns `None` if the kernel does not report it.
    fn read(thread: &Path) -> Option<Self> {
        let stat = std::fs::read_to_string(thread.join("schedstat")).ok()?;
        let mut words = stat.split_whitespace();
        let mut next = || Some(Duration::from_nanos(words.next()?.parse().ok()?));
        let (cpu_time, waited) = (next()?, next()?);
        let status = std::fs::read_to_string(thread.join("status")).ok()?;
        let mut fields = status.lines().filter_map(|line| line.split_once(':'));
        let (_, voluntary_switches) =
            fields.find(|(name, _)| *name == "voluntary_ctxt_switches")?;
        Some(Usage {
            cpu_time,
            waited,
            voluntary_switches: voluntary_switches.trim().parse().ok()?,
        })
    }

    fn for_this_thread() -> Option<Self> {
        Usage::read(Path::new("/proc/thread-self"))
    }
}

/// A recent reading of this thread's usage.
#[derive(Debug, Clone, Copy)]
struct Reading {
    at: Duration,
    usage: Option<Usage>,
}

impl Reading {
    /// Returns the current time, and a reading that is at most [`MAX_READING_AGE`] old. Readings are reused, because a
    /// new reading takes longer than a turn. The current time is taken after a new reading, so that the reading is not
    /// part of the turn.
    fn fresh(now: Duration) -> (Duration, Self) {
        LAST_READING.with(|last| {
            let reading = last.get();
            if let Some(reading) =
                reading.filter(|last| now.saturating_sub(last.at) < MAX_READING_AGE)
            {
                return (now, reading);
            }
            let reading = Reading {
                at: now,
                usage: Usage::for_this_thread(),
            };
            last.set(Some(reading));
            (roughly_now(), reading)
        })
    }

    /// Returns the part of the elapsed time in which the thread neither ran nor waited for a CPU, or zero if it never
    /// gave up the CPU voluntarily. So preemption on a busy machine does not count as sleep, nor does a stop of the
    /// whole machine.
    fn time_asleep(self, elapsed: Duration) -> Duration {
        let (Some(before), Some(now)) = (self.usage, Usage::for_this_thread()) else {
            return Duration::ZERO;
        };
        if now.voluntary_switches == before.voluntary_switches {
            return Duration::ZERO;
        }
        let busy = (now.cpu_time - before.cpu_time) + (now.waited - before.waited);
        elapsed.saturating_sub(busy)
    }
}

thread_local! {
    static LAST_END: std::cell::Cell<Duration> = const { std::cell::Cell::new(Duration::ZERO) };

    /// Number of turns of this thread's simulation with a long sleep.
    static SLEPT: std::cell::Cell<u32> = const { std::cell::Cell::new(0) };

    static LAST_READING: std::cell::Cell<Option<Reading>> = const { std::cell::Cell::new(None) };
}
