//! The environment of a lock besides its connections: the client's wall clock, its random numbers, and the user's
//! options.
//!
//! Clock and random numbers are passed in so that a simulation can control them, and so that a skewed clock can be a
//! fault.

use std::rc::Rc;
use std::time::Duration;

use rand::RngExt;

use crate::canceller::Canceller;
use crate::options::Options;
use crate::patience::{Patience, RETRY_DELAY, RETRY_JITTER};

/// The client's wall clock.
pub trait WallClock {
    /// Returns the time since the Unix epoch, according to this client's machine.
    fn since_epoch(&self) -> Duration;
}

/// The environment of a lock.
pub struct Context {
    /// The client's wall clock. It may be wrong, and may jump.
    pub wall_clock: Rc<dyn WallClock>,
    /// Source of tokens and random retry delays.
    pub rng: rand::rngs::StdRng,
    /// The user's options.
    pub options: Options,
    /// Number of permits that a semaphore grants at the same time; 1 for a lock with one holder.
    pub capacity: u32,
    /// Signals that the user gives up.
    pub canceller: Canceller,
}

impl Context {
    /// Returns a unique name for the next grant: 20 random bytes in hexadecimal, the size that redis.io proposes ("we
    /// can assume it's 20 bytes from /dev/urandom"). In a simulation, the seed determines it. Every attempt to acquire
    /// must use a new name; otherwise the lock has a bug of class S12.
    pub fn token(&mut self) -> String {
        let bytes: [u8; 20] = self.rng.random();
        let mut hex = String::with_capacity(2 * bytes.len());
        for byte in bytes {
            for digit in [byte >> 4, byte & 0xf] {
                hex.push(char::from(b"0123456789abcdef"[usize::from(digit)]));
            }
        }
        hex
    }

    /// Returns the patience for attempts to take a lock for `ttl`, repeated for at most `wait`.
    pub(crate) fn patience(&self, wait: Duration, ttl: Duration) -> Patience {
        let delay = self.options.duration(&RETRY_DELAY, ttl);
        let jitter = self.options.duration(&RETRY_JITTER, ttl);
        Patience::start(wait, delay, jitter)
    }

    /// Sleeps until the next attempt is due. Returns `false` at once if that attempt would begin after the deadline,
    /// and as soon as the client gives up.
    pub(crate) async fn another_attempt(&mut self, patience: Patience) -> bool {
        let Some(pause) = patience.pause(&mut self.rng) else {
            return false;
        };
        tokio::select! {
            biased;
            () = self.canceller.cancelled() => false,
            () = tokio::time::sleep(pause) => true,
        }
    }
}
