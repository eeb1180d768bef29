//! `renews-for-the-dead`: `set-nx-px` whose renewal is a task of the process, which nothing but a release ends.
//!
//! The thread that has the lock dies, its process lives, and the lock is renewed for as long as that does (L2:
//! madelson/DistributedLock#169). Caught by `progress` when a client ends and its process goes on.

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
    /// Dropping it does not end the task.
    renewal: Option<JoinHandle<()>>,
}

impl Variation for RenewsForTheDead {
    async fn acquire(lock: &mut Varied<Self>, key: &str, ttl: Duration, wait: Duration) -> Taken {
        let granted = Lock::acquire(&mut lock.original, key, ttl, wait).await?;
        if let Some(grant) = &granted {
            let lease = Lease::new(ttl)?;
            let mut extension = lock.original.extension(key, &grant.token, lease);
            lock.way.renewal = Some(tokio::task::spawn_local(async move {
                loop {
                    tokio::time::sleep(ttl / 3).await;
                    // Whatever the answer is.
                    extension.ask().await.ok();
                }
            }));
        }
        Ok(granted)
    }

    async fn release(lock: &mut Varied<Self>, key: &str, grant: &Grant) -> Result<bool, LockError> {
        if let Some(renewal) = lock.way.renewal.take() {
            renewal.abort();
        }
        Lock::release(&mut lock.original, key, grant).await
    }
}
