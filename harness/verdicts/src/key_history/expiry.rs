//! The lifetime of a value, as it was written.

use crate::timeline::ns_from_ms;

/// The latest lifetime that a value was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expiry {
    /// When it was set, in nanoseconds since the run began.
    pub set_ns: u64,
    /// The lifetime from then on, in milliseconds on the node's clock.
    pub ttl_ms: i64,
}

impl Expiry {
    /// Returns the lifetime in nanoseconds, or 0 if it had already passed when it was set.
    pub fn ttl_ns(self) -> u64 {
        ns_from_ms(u64::try_from(self.ttl_ms).unwrap_or(0))
    }

    /// Returns when the value expires if the node's clock is not set in the meantime.
    pub fn expires_at_ns(self) -> u64 {
        self.set_ns.saturating_add(self.ttl_ns())
    }
}
