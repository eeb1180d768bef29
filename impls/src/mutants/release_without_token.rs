//! `release-without-token`: `set-nx-px` whose release is a plain `DEL`.
//!
//! A late holder deletes its successor's lock (S4). Caught by `ownership`, cause `stolen-release`,
//! when a holder outlives its lease and then releases.

use crate::BuiltInLock;
use crate::contract::{Grant, LockError};
use crate::variation::{Variation, Varied, varied};

pub(crate) const LOCK: BuiltInLock = varied::<ReleaseWithoutToken>(
    "release-without-token",
    "mutant: set-nx-px whose release deletes any client's lock",
);

#[derive(Default)]
struct ReleaseWithoutToken;

impl Variation for ReleaseWithoutToken {
    async fn release(
        lock: &mut Varied<Self>,
        key: &str,
        _grant: &Grant,
    ) -> Result<bool, LockError> {
        let deleted: u64 = lock.original.redis.ask(redis::Cmd::del(key)).await?;
        Ok(deleted == 1)
    }
}
