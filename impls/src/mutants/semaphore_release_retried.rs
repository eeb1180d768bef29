//! `semaphore-release-retried`: `semaphore-counter` that releases again if the reply to its release was lost.
//!
//! The first `DECR` was executed, so the second one gives back a permit that no client had (solid_queue PR#761). Caught
//! by `exclusion` and `resource`.

use std::time::Duration;

use crate::contract::{Grant, Lock, LockError, Taken};
use crate::semaphores::counter::SemaphoreCounter;
use crate::{BuiltInLock, Kind, patience};

pub(crate) const LOCK: BuiltInLock = BuiltInLock {
    name: "semaphore-release-retried",
    summary: "mutant: semaphore-counter that releases again after a lost reply",
    nodes: 1,
    replicas: 0,
    kind: Kind::Semaphore,
    options: patience::RETRY,
    build: |nodes, context| Box::new(ReleaseRetried(SemaphoreCounter::new(nodes, context))),
};

struct ReleaseRetried(SemaphoreCounter);

impl Lock for ReleaseRetried {
    async fn acquire(&mut self, key: &str, ttl: Duration, wait: Duration) -> Taken {
        self.0.acquire(key, ttl, wait).await
    }

    fn takes_several_permits(&self) -> bool {
        true
    }

    async fn acquire_permits(
        &mut self,
        key: &str,
        permits: u32,
        ttl: Duration,
        wait: Duration,
    ) -> Taken {
        self.0.acquire_permits(key, permits, ttl, wait).await
    }

    async fn release(&mut self, key: &str, grant: &Grant) -> Result<bool, LockError> {
        match self.0.release(key, grant).await {
            Err(LockError::Ambiguous(_)) => self.0.release(key, grant).await,
            answer => answer,
        }
    }

    fn kind(&self) -> Kind {
        Kind::Semaphore
    }
}
