//! `renews-for-the-dead`: `set-nx-px` whose renewal is a task of the process, which only a release ends.
//!
//! The thread that has the lock dies but its process lives on, and the lock is renewed for as long as the process lives
//! (L2: madelson/DistributedLock#169). Caught by `progress` when a client ends and its process continues.

use std::time::Duration;

use tokio::task::JoinHandle;

use crate::BuiltInLock;
use crate::contract::{Grant, Lock, LockError, Taken};
use crate::lease::Lease;
use crate::variation::{Variation, Varied, varied};

pub(crate) const LOCK: BuiltInLock = varied::<RenewsForTheDead>(
    "renews-for-the-dead",
    "mutant: set-nx-px that is renewed for as long as the process of its holder lives",
);

#[derive(Default)]
struct RenewsForTheDead {
    /// Handle of the renewal. Dropping it does not end the task.
    renewal: Option<JoinHandle<()>>,
}

impl Variation for RenewsForTheDead {
    async fn acquire(lock: &mut Varied<Self>, key: &str, ttl: Duration, wait: Duration) -> Taken {
        let granted = Lock::acquire(&mut lock.original, key, ttl, wait).await?;
        if let Some(grant) = &granted {
            let lease = Lease::new(ttl)?;
            let mut extension = lock.original.extension(key, &grant.token, lease);
            lock.variation.renewal = Some(tokio::task::spawn_local(async move {
                loop {
                    tokio::time::sleep(ttl / 3).await;
                    // The result is ignored.
                    extension.ask().await.ok();
                }
            }));
        }
        Ok(granted)
    }

    async fn release(lock: &mut Varied<Self>, key: &str, grant: &Grant) -> Result<bool, LockError> {
        if let Some(renewal) = lock.variation.renewal.take() {
            renewal.abort();
        }
        Lock::release(&mut lock.original, key, grant).await
    }
}
