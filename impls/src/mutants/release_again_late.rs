//! `release-again-late`: `set-nx-px` that sends a plain `DEL` shortly after a release that has succeeded.
//!
//! By then the next client has the lock (S4: a release in a `finally` after one in the body, or a client that sends a
//! command twice). Caught by `lease`, cause `stolen-release`, without any fault.

use std::time::Duration;

use crate::BuiltInLock;
use crate::contract::{Grant, Lock, LockError};
use crate::variation::{Variation, Varied, varied};

/// Delay between the release and the second `DEL`.
const LATER: Duration = Duration::from_millis(30);

pub(crate) const LOCK: BuiltInLock = varied::<ReleaseAgainLate>(
    "release-again-late",
    "mutant: set-nx-px that repeats its release later, as a plain DEL",
);

#[derive(Default)]
struct ReleaseAgainLate;

impl Variation for ReleaseAgainLate {
    async fn release(lock: &mut Varied<Self>, key: &str, grant: &Grant) -> Result<bool, LockError> {
        let released = Lock::release(&mut lock.original, key, grant).await?;
        if released {
            let (mut redis, key) = (lock.original.redis.separate(), key.to_owned());
            tokio::task::spawn_local(async move {
                tokio::time::sleep(LATER).await;
                // The reply is ignored.
                redis.ask::<u64>(redis::Cmd::del(key)).await.ok();
            });
        }
        Ok(released)
    }
}
