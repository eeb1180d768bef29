//! What a strategy is given besides its connections: the client's wall clock and its entropy.
//!
//! Both are handed in so that a simulation can own them, and so that a skewed clock is a fault
//! that can be made.

use std::rc::Rc;
use std::time::Duration;

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
}
