//! `cron-key-per-host`: `set-nx-px` that takes the tick's lock under a key with its own host name.
//!
//! Each instance has its own lock, and the job runs once per instance (S17). Caught by `once`, cause `split-key`.

use std::time::Duration;

use crate::BuiltInLock;
use crate::contract::{Grant, Lock, LockError, Taken};
use crate::variation::{Variation, Varied};

pub(crate) const LOCK: BuiltInLock = BuiltInLock::on_one_node(
    "cron-key-per-host",
    "mutant: set-nx-px whose key contains the name of the host",
    |nodes, mut context| {
        let host = context.token();
        Box::new(Varied::new(nodes, context, KeyPerHost { host }))
    },
);

struct KeyPerHost {
    host: String,
}

impl KeyPerHost {
    fn key(&self, key: &str) -> String {
        format!("{}:{key}", self.host)
    }
}

impl Variation for KeyPerHost {
    async fn acquire(lock: &mut Varied<Self>, key: &str, ttl: Duration, wait: Duration) -> Taken {
        let key = lock.variation.key(key);
        Lock::acquire(&mut lock.original, &key, ttl, wait).await
    }

    async fn release(lock: &mut Varied<Self>, key: &str, grant: &Grant) -> Result<bool, LockError> {
        let key = lock.variation.key(key);
        Lock::release(&mut lock.original, &key, grant).await
    }
}
