//! Trying again: how long to wait between two attempts, and when to give up.

use std::time::Duration;

use rand::RngExt;
use rand::rngs::StdRng;

use crate::stopwatch::Stopwatch;

/// Shortest and longest delay between two attempts, milliseconds. Random, so that clients that
/// collided once do not collide for ever (redis.io, "Distributed locks": "retry after a random
/// delay in order to try to desynchronize multiple clients").
const DELAY_MS: std::ops::RangeInclusive<u64> = 10..=50;

/// How much longer a client that did not get the lock will go on trying.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience {
    since: Stopwatch,
    wait: Duration,
}

impl Patience {
    /// Goes on for `wait` from now; zero allows no second attempt.
    pub(crate) fn start(wait: Duration) -> Self {
        Patience {
            since: Stopwatch::start(),
            wait,
        }
    }

    /// Sleeps until it is time for another attempt. False, at once, where that attempt would
    /// begin after the deadline.
    pub(crate) async fn another_attempt(self, entropy: &mut StdRng) -> bool {
        let delay = Duration::from_millis(entropy.random_range(DELAY_MS));
        if self.since.elapsed() + delay > self.wait {
            return false;
        }
        tokio::time::sleep(delay).await;
        true
    }
}
