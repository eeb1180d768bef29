//! `split-key`: `set-nx-px` that adds its own process number to the key.
//!
//! Each client has its own lock (S17: foreman#8392, an id from a hash that differs between processes). Caught by
//! `lease`, cause `split-key`, as soon as two clients compete.

use std::time::Duration;

use crate::BuiltInLock;
use crate::contract::{Grant, Lock, LockError, Taken};
use crate::variation::{Variation, Varied};

pub(crate) const LOCK: BuiltInLock = BuiltInLock::on_one_node(
    "split-key",
    "mutant: set-nx-px whose clients each derive their own key",
    |nodes, mut context| {
        let process = context.token();
        Box::new(Varied::new(nodes, context, SplitKey { process }))
    },
);

struct SplitKey {
    process: String,
}

impl SplitKey {
    fn derived(&self, key: &str) -> String {
        format!("{key}:{}", self.process)
    }
}

impl Variation for SplitKey {
    async fn acquire(lock: &mut Varied<Self>, key: &str, ttl: Duration, wait: Duration) -> Taken {
        let key = lock.variation.derived(key);
        Lock::acquire(&mut lock.original, &key, ttl, wait).await
    }

    async fn extend(lock: &mut Varied<Self>, key: &str, grant: &Grant, ttl: Duration) -> Taken {
        let key = lock.variation.derived(key);
        Lock::extend(&mut lock.original, &key, grant, ttl).await
    }

    async fn release(lock: &mut Varied<Self>, key: &str, grant: &Grant) -> Result<bool, LockError> {
        let key = lock.variation.derived(key);
        Lock::release(&mut lock.original, &key, grant).await
    }
}
