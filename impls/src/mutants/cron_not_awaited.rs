//! `cron-not-awaited`: `set-nx-px` that releases as soon as the job has started.
//!
//! The wrapper starts an asynchronous job, does not wait for it, and its `finally` block releases at once (S21). Caught
//! by `once`, cause `own-removal`, as soon as another instance gets the tick while the job runs.

use std::time::Duration;

use crate::BuiltInLock;
use crate::attempts;
use crate::contract::Taken;
use crate::variation::{Variation, Varied, varied};

/// Time that the wrapper needs from the grant to its `finally` block.
const AT_ONCE: Duration = Duration::from_millis(20);

pub(crate) const LOCK: BuiltInLock = varied::<NotAwaited>(
    "cron-not-awaited",
    "mutant: set-nx-px that releases before the job is done",
);

#[derive(Default)]
struct NotAwaited;

impl Variation for NotAwaited {
    async fn acquire(lock: &mut Varied<Self>, key: &str, ttl: Duration, wait: Duration) -> Taken {
        let taken = attempts::acquire(lock, key, ttl, wait).await?;
        if taken.is_some() {
            let (mut redis, key) = (lock.original.redis.separate(), key.to_owned());
            tokio::task::spawn_local(async move {
                tokio::time::sleep(AT_ONCE).await;
                // The reply is ignored.
                redis.ask::<u64>(redis::Cmd::del(key)).await.ok();
            });
        }
        Ok(taken)
    }
}
