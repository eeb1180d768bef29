//! `finally-release`: `set-nx-px` that deletes the key on its way out, whether or not it has taken the lock.
//!
//! `finally { unlock() }` around an acquisition that failed does this (S19: laravel#61234). Caught by `ownership` when
//! a client is refused.

use std::time::Duration;

use redis::Cmd;

use crate::BuiltInLock;
use crate::attempts;
use crate::contract::Taken;
use crate::variation::{Variation, Varied, varied};

pub(crate) const LOCK: BuiltInLock = varied::<FinallyRelease>(
    "finally-release",
    "mutant: set-nx-px that deletes the key when it was refused",
);

#[derive(Default)]
struct FinallyRelease;

impl Variation for FinallyRelease {
    async fn acquire(lock: &mut Varied<Self>, key: &str, ttl: Duration, wait: Duration) -> Taken {
        let taken = attempts::acquire(lock, key, ttl, wait).await?;
        if taken.is_none() {
            lock.original.redis.ask::<()>(Cmd::del(key)).await?;
        }
        Ok(taken)
    }
}
