//! `waiters-take-the-pool`: `set-nx-px` whose clients in one process share four connections, and occupy one for as long
//! as they wait for the lock.
//!
//! A holder that wants to extend or release queues for a connection behind the clients that wait for its lock (L17).
//! Caught by `exclusion` when a crowd waits and the holder extends.

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
    /// The connections of the process. In the simulation all processes share them.
    static POOL: Arc<Semaphore> = Arc::new(Semaphore::new(4));
}

#[derive(Default)]
struct WaitersTakeThePool;

/// Takes a connection, which returns to the pool when the permit is dropped.
async fn connection() -> Option<OwnedSemaphorePermit> {
    POOL.with(Arc::clone).acquire_owned().await.ok()
}

impl Variation for WaitersTakeThePool {
    async fn acquire(lock: &mut Varied<Self>, key: &str, ttl: Duration, wait: Duration) -> Taken {
        // As in real pools, the wait for a connection is bounded.
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
