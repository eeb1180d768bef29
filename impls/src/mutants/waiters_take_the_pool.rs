//! `waiters-take-the-pool`: `set-nx-px` whose clients in one process share four connections, and keep one for as long as
//! they wait for the lock.
//!
//! The holder wants to extend or to release, and stands in the queue behind those who wait for it (L17). Caught by
//! `exclusion` when a crowd waits and the holder extends.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::BuiltInLock;
use crate::contract::{Grant, Lock, LockError, Taken};
use crate::variation::{Variation, Varied, varied};

pub(crate) const LOCK: BuiltInLock = varied::<WaitersTakeThePool>(
    "waiters-take-the-pool",
    "mutant: set-nx-px whose waiters keep the connections that its holder needs",
);

thread_local! {
    /// The connections of the process; in the simulation, of all processes.
    static POOL: Arc<Semaphore> = Arc::new(Semaphore::new(4));
}

#[derive(Default)]
struct WaitersTakeThePool;

/// A connection, which goes back to the pool when this is dropped.
async fn connection() -> Option<OwnedSemaphorePermit> {
    POOL.with(Arc::clone).acquire_owned().await.ok()
}

impl Variation for WaitersTakeThePool {
    async fn acquire(lock: &mut Varied<Self>, key: &str, ttl: Duration, wait: Duration) -> Taken {
        // As pools do, it lets nobody wait for ever.
        let Ok(_connection) = tokio::time::timeout(wait, connection()).await else {
            return Ok(None);
        };
        Lock::acquire(&mut lock.original, key, ttl, wait).await
    }

    async fn extend(lock: &mut Varied<Self>, key: &str, grant: &Grant, ttl: Duration) -> Taken {
        let _connection = connection().await;
        Lock::extend(&mut lock.original, key, grant, ttl).await
    }

    async fn release(lock: &mut Varied<Self>, key: &str, grant: &Grant) -> Result<bool, LockError> {
        let _connection = connection().await;
        Lock::release(&mut lock.original, key, grant).await
    }
}
