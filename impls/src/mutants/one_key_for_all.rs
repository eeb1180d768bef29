//! `one-key-for-all`: `set-nx-px` that ignores the name of the lock and always takes the same key.
//!
//! Every lock blocks every other one. With a single lock nothing is wrong. Caught by `claims`, cause `shared-key`, and
//! by `progress`, when two locks have different holders with long sections.

use std::time::Duration;

use crate::BuiltInLock;
use crate::contract::{Grant, Lock, LockError, Taken};
use crate::variation::{Variation, Varied, varied};

pub(crate) const LOCK: BuiltInLock = varied::<OneKeyForAll>(
    "one-key-for-all",
    "mutant: set-nx-px that uses the same key for every lock",
);

#[derive(Default)]
struct OneKeyForAll;

const KEY: &str = "lock";

impl Variation for OneKeyForAll {
    async fn acquire(lock: &mut Varied<Self>, _key: &str, ttl: Duration, wait: Duration) -> Taken {
        Lock::acquire(&mut lock.original, KEY, ttl, wait).await
    }

    async fn extend(lock: &mut Varied<Self>, _key: &str, grant: &Grant, ttl: Duration) -> Taken {
        Lock::extend(&mut lock.original, KEY, grant, ttl).await
    }

    async fn release(
        lock: &mut Varied<Self>,
        _key: &str,
        grant: &Grant,
    ) -> Result<bool, LockError> {
        Lock::release(&mut lock.original, KEY, grant).await
    }
}
