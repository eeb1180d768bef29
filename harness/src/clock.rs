//! The only source of time.
//!
//! In the server backends it is the machine's monotonic clock; inside a tokio runtime whose clock is
//! paused it is virtual time. Nothing else in the workspace reads a clock (`clippy.toml` forbids
//! it).

#![expect(clippy::disallowed_methods, reason = "this is the module that may")]

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::time::Instant;

/// The run's monotonic clock: nanoseconds since the buyers began. Copies read the same clock.
#[derive(Debug, Clone)]
pub struct Clock {
    origin: Instant,
    /// The same in numbers: see [`number_of`].
    origin_ns: i64,
    /// The reading at which it was set to zero. Everything before reads as zero.
    zero_ns: Arc<AtomicU64>,
}

impl Clock {
    /// A clock that starts now.
    pub fn start() -> Self {
        let origin = now();
        Clock {
            origin,
            origin_ns: number_of(origin),
            zero_ns: Arc::default(),
        }
    }

    /// Sets the clock, and all copies, to zero. Times in reports count from when the buyers began,
    /// not from the start of the first server.
    pub fn set_to_zero(&self) {
        self.zero_ns.store(self.raw_ns(), Ordering::Release);
    }

    /// Nanoseconds since the clock was last at zero.
    pub fn now_ns(&self) -> u64 {
        self.raw_ns()
            .saturating_sub(self.zero_ns.load(Ordering::Acquire))
    }

    /// Time since the clock was last at zero.
    pub fn elapsed(&self) -> Duration {
        Duration::from_nanos(self.now_ns())
    }

    /// The instant, for tokio's timers, at which the clock shows `at_ns`.
    pub fn instant(&self, at_ns: u64) -> Instant {
        self.origin
            + Duration::from_nanos(self.zero_ns.load(Ordering::Acquire).saturating_add(at_ns))
    }

    fn raw_ns(&self) -> u64 {
        let now_ns = HELD
            .get()
            .map_or_else(|| number_of(Instant::now()), |held| held.1);
        u64::try_from(now_ns - self.origin_ns).unwrap_or(0)
    }
}

thread_local! {
    /// What all clocks of this thread show while they are stopped, also as a number.
    static HELD: Cell<Option<(Instant, i64)>> = const { Cell::new(None) };
}

fn now() -> Instant {
    HELD.get().map_or_else(Instant::now, |held| held.0)
}

/// An instant in nanoseconds since a common origin. Stopped clocks are read so often that even
/// subtracting two instants would show in a profile.
fn number_of(instant: Instant) -> i64 {
    static FIRST: OnceLock<Instant> = OnceLock::new();
    let first = *FIRST.get_or_init(|| instant);
    let number = |span: Duration| i64::try_from(span.as_nanos()).unwrap_or(i64::MAX);
    // The result may be negative: the origin is the instant that was converted first, in any
    // thread.
    match instant.checked_duration_since(first) {
        Some(later) => number(later),
        None => -number(first - instant),
    }
}

/// Runs `work` while all clocks of this thread are stopped.
///
/// Virtual time moves only while nothing runs, and asking tokio for it takes a lock each time; so a
/// simulation asks once for each turn.
pub(crate) fn holding<T>(work: impl FnOnce() -> T) -> T {
    /// Starts the clocks again, even if the work panics.
    struct Held;

    impl Drop for Held {
        fn drop(&mut self) {
            HELD.set(None);
        }
    }

    let now = Instant::now();
    HELD.set(Some((now, number_of(now))));
    let _held = Held;
    work()
}

/// The machine's wall clock, time since the Unix epoch.
pub fn wall_clock() -> Duration {
    std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap_or_default()
}

/// Blocks this thread, as a call does that does not yield: for workers that were asked to.
pub(crate) fn block_thread(duration: Duration) {
    std::thread::sleep(duration);
}

/// Nanoseconds of a duration.
pub(crate) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// Whole milliseconds of a duration.
pub fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
