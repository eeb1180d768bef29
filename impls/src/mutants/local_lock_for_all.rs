//! `local-lock-for-all`: `set-nx-px` behind one local lock for all names.
//!
//! A client that holds one lock never gets another: its second request waits for the local lock, which it holds itself,
//! and ends without a command (L19: spring-integration#11146). Caught by `progress`, cause `stopped-asking`, when
//! clients hold two locks.

use std::time::Duration;

use crate::BuiltInLock;
use crate::attempts;
use crate::contract::{Grant, Lock, LockError, Taken};
use crate::variation::{Variation, Varied, varied};

pub(crate) const LOCK: BuiltInLock = varied::<LocalLockForAll>(
    "local-lock-for-all",
    "mutant: set-nx-px with one local lock for all names, so that a holder can wait for itself",
);

/// Whether the local lock is taken.
#[derive(Default)]
struct LocalLockForAll(bool);

impl Variation for LocalLockForAll {
    async fn acquire(lock: &mut Varied<Self>, key: &str, ttl: Duration, wait: Duration) -> Taken {
        if lock.variation.0 {
            tokio::time::sleep(wait).await;
            return Ok(None);
        }
        let taken = attempts::acquire(lock, key, ttl, wait).await?;
        lock.variation.0 = taken.is_some();
        Ok(taken)
    }

    async fn release(lock: &mut Varied<Self>, key: &str, grant: &Grant) -> Result<bool, LockError> {
        let released = Lock::release(&mut lock.original, key, grant).await?;
        lock.variation.0 = false;
        Ok(released)
    }
}
