//! `start-frees-any`: `set-nx-px` whose process deletes all keys when it starts, as if an earlier process had left them
//! behind.
//!
//! A client that starts while another one holds the lock frees it (S4: huey#308). Caught by `ownership`, cause
//! `foreign-removal`, when a client is started again.

use crate::BuiltInLock;
use crate::contract::LockError;
use crate::variation::{Variation, Varied, varied};

pub(crate) const LOCK: BuiltInLock = varied::<StartFreesAny>(
    "start-frees-any",
    "mutant: set-nx-px that deletes the keys of all locks when its process starts",
);

#[derive(Default)]
struct StartFreesAny;

impl Variation for StartFreesAny {
    async fn start(lock: &mut Varied<Self>) {
        // If the server is out of reach, the mutant skips the deletion.
        delete_all(lock).await.ok();
    }
}

async fn delete_all(lock: &mut Varied<StartFreesAny>) -> Result<(), LockError> {
    let mut all = redis::cmd("KEYS");
    all.arg("*");
    let keys: Vec<String> = lock.original.redis.ask(all).await?;
    if !keys.is_empty() {
        lock.original
            .redis
            .ask::<u64>(redis::Cmd::del(keys))
            .await?;
    }
    Ok(())
}
