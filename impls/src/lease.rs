//! The length of a lease in Redis's unit: whole milliseconds, at least one.

use std::time::Duration;

use crate::contract::{Grant, LockError};
use crate::stopwatch::{Deadline, Stopwatch};

/// A lease time that Redis accepts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lease {
    millis: u64,
}

impl Lease {
    /// Rounds down to milliseconds: the client may rely on less than it requested, never on more.
    ///
    /// A lease of zero is a bad call, not a very short lease: `PEXPIRE key 0` deletes the key, and `SET … PX 0` is an
    /// error (bug class S6).
    pub(crate) fn new(ttl: Duration) -> Result<Self, LockError> {
        match u64::try_from(ttl.as_millis()) {
            Ok(0) => Err(LockError::BadCall(format!(
                "a TTL of {ttl:?} is less than a millisecond"
            ))),
            Ok(millis) => Ok(Lease { millis }),
            Err(_) => Err(LockError::BadCall(format!(
                "a TTL of {ttl:?} is longer than Redis can count"
            ))),
        }
    }

    /// Returns the lease in the unit of `PX` and `PEXPIRE`.
    pub(crate) fn millis(self) -> u64 {
        self.millis
    }

    /// Returns the lease in the unit of `EXPIRE`, if it is a whole number of seconds.
    pub(crate) fn whole_seconds(self) -> Option<u64> {
        self.millis
            .is_multiple_of(1000)
            .then_some(self.millis / 1000)
    }

    /// Returns the lease time.
    pub(crate) fn duration(self) -> Duration {
        Duration::from_millis(self.millis)
    }

    /// Returns when a lease ends that was requested when `requested` was started.
    pub(crate) fn until(self, requested: Stopwatch) -> Deadline {
        requested.until(self.duration())
    }

    /// Returns the grant of a lock without fencing tokens that was requested when `requested` was started.
    pub(crate) fn grant(self, token: impl Into<String>, requested: Stopwatch) -> Grant {
        Grant {
            token: token.into(),
            fence: None,
            valid_until: Some(self.until(requested)),
        }
    }

    /// Returns the grant after an extension that was requested when `requested` was started.
    pub(crate) fn extended(self, grant: &Grant, requested: Stopwatch) -> Grant {
        Grant {
            valid_until: Some(self.until(requested)),
            ..grant.clone()
        }
    }
}
