//! How long a written value lives, as far as it matters to a lock.

use super::nanoseconds::ns_from_ms;

/// The lifetime of a value that an attempt wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lifetime {
    /// The key cannot hold the lock, so its lifetime shows nothing about the lease.
    NotOfLock,
    /// The value never expires.
    Endless,
    /// The value expires after this number of milliseconds. A negative number means that it is expired already.
    Ms(i64),
}

impl Lifetime {
    /// Creates the lifetime of a value with this TTL, or without one if `ttl_ms` is `None`.
    pub(super) fn new(may_hold_lock: bool, ttl_ms: Option<i64>) -> Self {
        match ttl_ms {
            _ if !may_hold_lock => Lifetime::NotOfLock,
            Some(ttl_ms) => Lifetime::Ms(ttl_ms),
            None => Lifetime::Endless,
        }
    }

    /// Returns the lifetime in nanoseconds, or `u64::MAX` if the value never expires. Returns `None` if the key cannot
    /// hold the lock.
    pub(super) fn ns(self) -> Option<u64> {
        match self {
            Lifetime::NotOfLock => None,
            Lifetime::Endless => Some(u64::MAX),
            Lifetime::Ms(count) => Some(ns_from_ms(u64::try_from(count).unwrap_or(0))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn value_without_expiry_lives_forever_if_it_may_hold_the_lock() {
        assert_eq!(Lifetime::new(true, None).ns(), Some(u64::MAX));
        assert_eq!(Lifetime::new(true, Some(3)).ns(), Some(3_000_000));
        assert_eq!(Lifetime::new(true, Some(-3)).ns(), Some(0));
        assert_eq!(Lifetime::new(false, None).ns(), None);
        assert_eq!(Lifetime::new(false, Some(3)).ns(), None);
    }
}
