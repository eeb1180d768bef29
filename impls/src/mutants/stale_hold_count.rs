//! `stale-hold-count`: a re-entrant `set-nx-px` whose hold count survives the loss of the lock.
//!
//! A client that already has the lock only counts. A release that finds the lock lost, or gets no reply, leaves the
//! count unchanged, so every later acquisition of this client is granted without a request to Redis (redisson#7367,
//! #4178: S11). Caught by `exclusion`, cause `unbacked-grant`, when a holder loses its lock before it releases it, and
//! acquires again.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::BuiltInLock;
use crate::contract::{Grant, Lock, LockError, Taken};
use crate::lease::Lease;
use crate::stopwatch::Deadline;
use crate::variation::{Variation, Varied, varied};

pub(crate) const LOCK: BuiltInLock = varied::<StaleHoldCount>(
    "stale-hold-count",
    "mutant: re-entrant set-nx-px that continues to count after it lost the lock",
);

#[derive(Default)]
struct StaleHoldCount {
    /// Number of holds and outermost grant, by key.
    held: BTreeMap<String, (u32, Grant)>,
}

impl Variation for StaleHoldCount {
    async fn acquire(lock: &mut Varied<Self>, key: &str, ttl: Duration, wait: Duration) -> Taken {
        if let Some((count, grant)) = lock.variation.held.get_mut(key) {
            *count += 1;
            return Ok(Some(Grant {
                valid_until: Some(Deadline::after(Lease::new(ttl)?.duration())),
                ..grant.clone()
            }));
        }
        let granted = Lock::acquire(&mut lock.original, key, ttl, wait).await?;
        if let Some(grant) = &granted {
            lock.variation
                .held
                .insert(key.to_owned(), (1, grant.clone()));
        }
        Ok(granted)
    }

    async fn release(lock: &mut Varied<Self>, key: &str, grant: &Grant) -> Result<bool, LockError> {
        if let Some((count, _)) = lock.variation.held.get_mut(key)
            && *count > 1
        {
            *count -= 1;
            return Ok(true);
        }
        let released = Lock::release(&mut lock.original, key, grant).await?;
        // The defect: the count is kept although a lost lock is not held either.
        if released {
            lock.variation.held.remove(key);
        }
        Ok(released)
    }
}
