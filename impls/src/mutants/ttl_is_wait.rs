//! `ttl-is-wait`: `set-nx-px` whose key lives for as long as its client was ready to wait for it.
//!
//! The two durations of the call are swapped (S6: Hangfire.Redis#67, kork#165), and the client reports the requested
//! lease. Caught by `claims`, cause `wrong-expiry`, without any fault.

use std::time::Duration;

use crate::BuiltInLock;
use crate::attempts;
use crate::contract::{Grant, Taken};
use crate::stopwatch::Deadline;
use crate::variation::{Variation, Varied, varied};

pub(crate) const LOCK: BuiltInLock = varied::<TtlIsWait>(
    "ttl-is-wait",
    "mutant: set-nx-px whose key expires after the time that it would have waited",
);

#[derive(Default)]
struct TtlIsWait;

impl Variation for TtlIsWait {
    async fn acquire(lock: &mut Varied<Self>, key: &str, ttl: Duration, wait: Duration) -> Taken {
        let taken = attempts::acquire(lock, key, wait.max(ttl / 10), wait).await?;
        Ok(taken.map(|grant| Grant {
            valid_until: Some(Deadline::after(ttl)),
            ..grant
        }))
    }
}
