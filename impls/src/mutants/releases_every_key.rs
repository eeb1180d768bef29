//! `releases-every-key`: `set-nx-px` whose release deletes every key of the server.
//!
//! It compares its token with the lock's key and then deletes all keys, like the clean-up of a test. With a single lock
//! nothing is wrong. Caught by `lease`, cause `stolen-release`, when two locks have different holders.

use std::sync::LazyLock;

use redis::Script;

use crate::BuiltInLock;
use crate::contract::{Grant, LockError};
use crate::variation::{Variation, Varied, varied};

/// Deletes all keys if the lock's key holds the token.
static DELETE_EVERY_KEY: LazyLock<Script> =
    LazyLock::new(|| Script::new(include_str!("delete_every_key.lua")));

pub(crate) const LOCK: BuiltInLock = varied::<ReleasesEveryKey>(
    "releases-every-key",
    "mutant: set-nx-px whose release deletes the keys of all locks",
);

#[derive(Default)]
struct ReleasesEveryKey;

impl Variation for ReleasesEveryKey {
    async fn release(lock: &mut Varied<Self>, key: &str, grant: &Grant) -> Result<bool, LockError> {
        let deleted: u64 = DELETE_EVERY_KEY
            .key(key)
            .arg(&grant.token)
            .invoke_async(lock.original.redis.connection()?)
            .await?;
        Ok(deleted > 0)
    }
}
