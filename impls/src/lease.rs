//! The length of a lease, as Redis counts it: whole milliseconds, at least one.

use std::time::Duration;

use crate::contract::{Grant, LockError};
use crate::stopwatch::Stopwatch;

/// A lease time that Redis can take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lease {
    millis: u64,
}

impl Lease {
    /// Rounds down to milliseconds: the client may believe less than it asked for, never more.
    ///
    /// A lease of nothing is a bad call and not a very short lease: `PEXPIRE key 0` deletes the
    /// key, and `SET … PX 0` is an error (bug class S6).
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

    /// As `PX` and `PEXPIRE` want it.
    pub(crate) fn millis(self) -> u64 {
        self.millis
    }

    /// As `EXPIRE` wants it, where the lease is a whole number of seconds.
    pub(crate) fn whole_seconds(self) -> Option<u64> {
        self.millis
            .is_multiple_of(1000)
            .then_some(self.millis / 1000)
    }

    /// The lease time.
    pub(crate) fn duration(self) -> Duration {
        Duration::from_millis(self.millis)
    }

    /// What is left of the lease after `elapsed`; never below zero.
    pub(crate) fn left_after(self, elapsed: Duration) -> Duration {
        self.duration().saturating_sub(elapsed)
    }

    /// The grant of a lock that was asked for then, and that counts no fencing tokens.
    pub(crate) fn grant(self, token: impl Into<String>, asked: Stopwatch) -> Grant {
        Grant {
            token: token.into(),
            fence: None,
            valid_for: Some(self.left_after(asked.elapsed())),
        }
    }

    /// The same hold, for longer: its extension was asked for then.
    pub(crate) fn extended(self, grant: &Grant, asked: Stopwatch) -> Grant {
        Grant {
            valid_for: Some(self.left_after(asked.elapsed())),
            ..grant.clone()
        }
    }
}
