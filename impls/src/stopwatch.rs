//! The client's own monotonic clock: how long something took, as this client sees it.

#![expect(
    clippy::disallowed_methods,
    reason = "a lock must measure its own validity, and a subject cannot know the harness's clock; \
              tokio's instants follow a paused clock, so a simulation still owns the time"
)]

use std::time::Duration;

use tokio::time::Instant;

/// Measures from the moment at which it was started.
#[derive(Debug, Clone, Copy)]
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
}

/// When a lease runs out, on the client's own monotonic clock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deadline {
    since: Stopwatch,
    length: Duration,
}

impl Deadline {
    /// So long from now.
    pub(crate) fn after(length: Duration) -> Self {
        Deadline {
            since: Stopwatch::start(),
            length,
        }
    }

    /// What is left until then; never below zero.
    pub(crate) fn left(self) -> Duration {
        self.length.saturating_sub(self.since.elapsed())
    }
}
