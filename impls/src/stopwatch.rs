//! The client's own monotonic clock: how long something took from this client's point of view.

#![expect(
    clippy::disallowed_methods,
    reason = "a lock must measure its own validity, and a lock cannot know the harness's clock; \
              tokio's instants follow a paused clock, so a simulation still owns the time"
)]

use std::time::Duration;

use tokio::time::Instant;

/// Measures from the moment at which it was started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stopwatch(Instant);

impl Stopwatch {
    /// Starts now.
    pub(crate) fn start() -> Self {
        Stopwatch(Instant::now())
    }

    /// Time since the start, on the monotonic clock.
    pub(crate) fn elapsed(self) -> Duration {
        self.0.elapsed()
    }

    /// This long after the start.
    pub(crate) fn until(self, length: Duration) -> Deadline {
        Deadline {
            since: self,
            length,
        }
    }
}

/// When a lease expires, on the client's own monotonic clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadline {
    since: Stopwatch,
    length: Duration,
}

impl Deadline {
    /// This long from now.
    pub fn after(length: Duration) -> Self {
        Stopwatch::start().until(length)
    }

    /// The time until then. Never below zero.
    pub fn left(self) -> Duration {
        self.length.saturating_sub(self.since.elapsed())
    }
}
