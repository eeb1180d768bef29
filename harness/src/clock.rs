//! The one place where time comes from.
//!
//! In the real worlds it is the machine's monotonic clock; inside a tokio runtime whose clock is
//! paused it is virtual time. Nothing else in the workspace reads a clock (`clippy.toml` bans it).

#![expect(clippy::disallowed_methods, reason = "this is the module that may")]

use std::time::Duration;

use tokio::time::Instant;

/// The run's monotonic clock: nanoseconds since the run began. Copies read the same clock.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    origin: Instant,
}

impl Clock {
    /// A clock that begins now.
    pub fn start() -> Self {
        Clock {
            origin: Instant::now(),
        }
    }

    /// Nanoseconds since the clock began.
    pub fn now_ns(&self) -> u64 {
        u64::try_from(self.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// Time since the clock began.
    pub fn elapsed(&self) -> Duration {
        self.origin.elapsed()
    }

    /// The instant, for tokio's timers, at which the clock shows `at_ns`.
    pub fn instant(&self, at_ns: u64) -> Instant {
        self.origin + Duration::from_nanos(at_ns)
    }
}

/// The machine's wall clock, time since the Unix epoch.
pub fn wall_clock() -> Duration {
    std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap_or_default()
}
