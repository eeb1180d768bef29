//! The client's own monotonic clock, which measures durations from this client's point of view.

#![expect(
    clippy::disallowed_methods,
    reason = "a lock must measure its own validity, and a lock cannot know the harness's clock; \
              tokio's instants follow a paused clock, so a simulation still owns the time"
)]

use std::time::Duration;

use tokio::time::Instant;

/// Measures the time since its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stopwatch(Instant);

impl Stopwatch {
    /// Starts a stopwatch now.
    pub(crate) fn start() -> Self {
        Stopwatch(Instant::now())
    }

    /// Returns the time since the start, on the monotonic clock.
    pub(crate) fn elapsed(self) -> Duration {
        self.0.elapsed()
    }

    /// Returns the point in time `length` after the start.
    pub(crate) fn until(self, length: Duration) -> Deadline {
        Deadline {
            since: self,
            length,
        }
    }
}

/// The end of a lease, on the client's own monotonic clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadline {
    since: Stopwatch,
    length: Duration,
}

impl Deadline {
    /// Returns the point in time `length` from now.
    pub fn after(length: Duration) -> Self {
        Stopwatch::start().until(length)
    }

    /// Returns the time left, never below zero.
    pub fn left(self) -> Duration {
        self.length.saturating_sub(self.since.elapsed())
    }
}
