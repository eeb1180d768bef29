//! How long a value lives, by what was written.

use crate::timeline::ms;

/// The life that a value was given last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expiry {
    /// When it was given, nanoseconds since the run began.
    pub set_ns: u64,
    /// How long the value lives from then on, milliseconds by the node's clock.
    pub ttl_ms: i64,
}

impl Expiry {
    /// The life in nanoseconds. Of one that was over when it was given: nothing.
    pub fn ttl_ns(self) -> u64 {
        ms(u64::try_from(self.ttl_ms).unwrap_or(0))
    }

    /// When it is over if nobody sets the node's clock.
    pub fn ended_at_ns(self) -> u64 {
        self.set_ns.saturating_add(self.ttl_ns())
    }
}
