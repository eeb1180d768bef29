//! `retry-without-token`: `set-nx-px` that repeats an unanswered release as a plain `DEL`.
//!
//! The first try compares the token, the second one does not (S4 after L4). If only the reply was lost, the lock has
//! been free since the first try, and the second one deletes the successor's lock. Caught by `ownership`, cause
//! `stolen-release`, when the reply to a release is lost.

use crate::BuiltInLock;
use crate::contract::{Grant, Lock, LockError};
use crate::variation::{Variation, Varied, varied};

pub(crate) const LOCK: BuiltInLock = varied::<RetryWithoutToken>(
    "retry-without-token",
    "mutant: set-nx-px that repeats an unanswered release as a plain DEL",
);

#[derive(Default)]
struct RetryWithoutToken;

impl Variation for RetryWithoutToken {
    async fn release(lock: &mut Varied<Self>, key: &str, grant: &Grant) -> Result<bool, LockError> {
        match Lock::release(&mut lock.original, key, grant).await {
            Err(LockError::Ambiguous(_)) => {
                let deleted: u64 = lock.original.redis.ask(redis::Cmd::del(key)).await?;
                Ok(deleted == 1)
            }
            answer => answer,
        }
    }
}
