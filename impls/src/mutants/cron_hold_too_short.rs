//! `cron-hold-too-short`: a lock with a minimum hold that is a tenth of what it should be.
//!
//! The key is removed long before the last instance gets its tick (S22). Caught by `once`, cause `ran-twice`, when a
//! job is shorter than clocks differ.

use std::time::Duration;

use crate::BuiltInLock;
use crate::contract::{Grant, Lock, LockError};
use crate::variation::{Variation, Varied, varied};

/// The minimum time for which the lock is held after the job.
const TOO_SHORT: Duration = Duration::from_millis(60);

pub(crate) const LOCK: BuiltInLock = varied::<HoldTooShort>(
    "cron-hold-too-short",
    "mutant: cron-min-hold that keeps its key for a tenth of the time",
);

#[derive(Default)]
struct HoldTooShort;

impl Variation for HoldTooShort {
    async fn release(lock: &mut Varied<Self>, key: &str, grant: &Grant) -> Result<bool, LockError> {
        tokio::time::sleep(TOO_SHORT).await;
        Lock::release(&mut lock.original, key, grant).await
    }
}
