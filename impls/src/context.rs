//! What a strategy is given besides its connections: the client's wall clock, its entropy, and
//! what the user chose.
//!
//! Clock and entropy are handed in so that a simulation can own them, and so that a skewed clock is a fault
//! that can be made.

use std::rc::Rc;
use std::time::Duration;

use crate::options::Options;
use crate::patience::{Patience, RETRY_DELAY, RETRY_JITTER};

/// The client's wall clock.
pub trait WallClock {
    /// Time since the Unix epoch, as this client's machine believes it to be.
    fn since_epoch(&self) -> Duration;
}

/// What a strategy may draw on.
pub struct Context {
    /// The client's wall clock; it may be wrong, and may leap.
    pub wall_clock: Rc<dyn WallClock>,
    /// Where tokens and random retry delays come from.
    pub entropy: rand::rngs::StdRng,
    /// What the user chose.
    pub options: Options,
}

impl Context {
    /// For an attempt to take a lock for `ttl`, tried again for at most `wait`.
    pub(crate) fn patience(&self, wait: Duration, ttl: Duration) -> Patience {
        let delay = self.options.duration(&RETRY_DELAY, ttl);
        let jitter = self.options.duration(&RETRY_JITTER, ttl);
        Patience::start(wait, delay, jitter)
    }
}
