//! The only source of time.
//!
//! In the server backends, time is the machine's monotonic clock. In a tokio runtime whose clock is paused, time is
//! virtual. No other module of the workspace reads a clock; `clippy.toml` forbids it.

#![expect(clippy::disallowed_methods, reason = "the only module that may")]

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::time::Instant;

/// The run's monotonic clock, in nanoseconds since the clients started. Clones share the same zero.
#[derive(Debug, Clone)]
pub struct Clock {
    origin: Instant,
    /// `origin` as a number, as [`number_of`] returns it.
    origin_ns: i64,
    /// Raw reading at which the clock was set to zero. Earlier times read as zero.
    zero_ns: Arc<AtomicU64>,
}

impl Clock {
    /// Starts a clock at zero.
    pub fn start() -> Self {
        let origin = now();
        Clock {
            origin,
            origin_ns: number_of(origin),
            zero_ns: Arc::default(),
        }
    }

    /// Sets the clock and all its clones to zero. Times in reports count from the start of the clients, not from the
    /// start of the first server.
    pub fn set_to_zero(&self) {
        self.zero_ns.store(self.raw_ns(), Ordering::Release);
    }

    /// Returns the nanoseconds since the clock was last set to zero.
    pub fn now_ns(&self) -> u64 {
        self.raw_ns()
            .saturating_sub(self.zero_ns.load(Ordering::Acquire))
    }

    /// Returns the time since the clock was last set to zero.
    pub fn elapsed(&self) -> Duration {
        Duration::from_nanos(self.now_ns())
    }

    /// Returns the instant at which the clock shows `at_ns`, for tokio's timers.
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
    /// The time that all clocks of this thread show while they are stopped, as an instant and as a number of
    /// nanoseconds; `None` while they run.
    static HELD: Cell<Option<(Instant, i64)>> = const { Cell::new(None) };
}

fn now() -> Instant {
    HELD.get().map_or_else(Instant::now, |held| held.0)
}

/// Converts an instant to nanoseconds since a common origin. The number is stored because stopped clocks are read so
/// often that even the subtraction of two instants would be noticeable in a profile.
fn number_of(instant: Instant) -> i64 {
    static FIRST: OnceLock<Instant> = OnceLock::new();
    let first = *FIRST.get_or_init(|| instant);
    let number = |span: Duration| i64::try_from(span.as_nanos()).unwrap_or(i64::MAX);
    // The result can be negative: the origin is the first instant that any thread converted.
    match instant.checked_duration_since(first) {
        Some(later) => number(later),
        None => -number(first - instant),
    }
}

/// Runs `work` while all clocks of this thread are stopped.
///
/// Virtual time advances only while no task runs, and each read of tokio's clock takes a lock. The simulation therefore
/// reads it once per turn.
pub(crate) fn holding<T>(work: impl FnOnce() -> T) -> T {
    /// Restarts the clocks, even if `work` panics.
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

/// Returns the machine's wall clock as the time since the Unix epoch.
pub fn wall_clock() -> Duration {
    std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap_or_default()
}

/// Blocks this thread. For workers that have to block their event loop or their thread.
pub(crate) fn block_thread(duration: Duration) {
    std::thread::sleep(duration);
}

/// Returns a duration in nanoseconds.
pub(crate) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// Returns a duration in whole milliseconds.
pub fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
