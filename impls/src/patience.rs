//! Retries: the pause between two attempts, and the end of the attempts.

use std::time::Duration;

use rand::RngExt;
use rand::rngs::StdRng;

use crate::lease_duration::LeaseDuration;
use crate::options::{OptionKind, OptionSpec, OptionValue};
use crate::stopwatch::Stopwatch;

/// Shortest pause between two attempts. Delays are random, so that clients that collided once do not collide again and
/// again (redis.io, "Distributed locks": "retry after a random delay in order to try to desynchronize multiple
/// clients").
pub(crate) const RETRY_DELAY: OptionSpec = OptionSpec {
    name: "retry_delay",
    meaning: "shortest pause between two attempts to take the lock",
    kind: OptionKind::Duration { zero: false },
    default: OptionValue::Duration(LeaseDuration::Absolute(Duration::from_millis(10))),
};

/// Longest random extra pause, in whole milliseconds; fractions are ignored.
pub(crate) const RETRY_JITTER: OptionSpec = OptionSpec {
    name: "retry_jitter",
    meaning: "longest random extra pause, in whole milliseconds",
    kind: OptionKind::Duration { zero: true },
    default: OptionValue::Duration(LeaseDuration::Absolute(Duration::from_millis(40))),
};

/// The options of a lock whose user can only set the pauses between attempts.
pub(crate) const RETRY: &[&OptionSpec] = &[&RETRY_DELAY, &RETRY_JITTER];

/// The time for which a client that did not get the lock continues to try.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience {
    since: Stopwatch,
    wait: Duration,
    delay: Duration,
    jitter: Duration,
}

impl Patience {
    /// Starts a period of `wait` from now. Zero allows no second attempt.
    pub(crate) fn start(wait: Duration, delay: Duration, jitter: Duration) -> Self {
        Patience {
            since: Stopwatch::start(),
            wait,
            delay,
            jitter,
        }
    }

    /// Returns the pause before the next attempt, or `None` if that attempt would begin after the deadline.
    pub(crate) fn pause(self, rng: &mut StdRng) -> Option<Duration> {
        let most_ms = u64::try_from(self.jitter.as_millis()).unwrap_or(u64::MAX);
        let pause = self.delay + Duration::from_millis(rng.random_range(0..=most_ms));
        (self.since.elapsed() + pause <= self.wait).then_some(pause)
    }
}
