//! `setnx-expire`: the lock of the early articles, which takes two commands to acquire.
//!
//! **Commands.** Acquire: `SETNX key token`, and if that took the key, as a second command,
//! `EXPIRE key seconds` (`PEXPIRE key ms` if the lease is not a whole number of seconds; the
//! articles only use seconds). Extend: `EXPIRE`/`PEXPIRE`. Release: `DEL key`.
//!
//! **From.** Countless articles from before Redis 2.6.12 (2013), which introduced `SET … NX PX`. The `finally {
//! del(key) }` at the end is theirs, too. They have no extension. The extension here works like their release, and
//! checks no token.
//!
//! **Promises.** One holder at a time while nothing goes wrong.
//!
//! **Does not survive.**
//! - A crash, or a lost reply, between the two commands: the key never expires (L1).
//! - A holder that is slower than its lease: its `DEL` deletes any lock that it finds (S1, S4).
//! - Loss of the key: failover, restart, eviction (S7, S8, S10).

use std::time::Duration;

use redis::Cmd;

use crate::BuiltInLock;
use crate::contract::{Grant, LockError, Taken};
use crate::lease::Lease;
use crate::single_node::SingleNode;
use crate::stopwatch::Stopwatch;
use crate::variation::{Variation, Varied, varied};

pub(crate) const LOCK: BuiltInLock = varied::<SetnxExpire>(
    "setnx-expire",
    "SETNX, then EXPIRE as a second command; releases with a plain DEL",
);

#[derive(Default)]
struct SetnxExpire;

/// Gives the key its time to live. Returns `true` if the key exists.
async fn expire(redis: &mut SingleNode, key: &str, lease: Lease) -> Result<bool, LockError> {
    let command = match lease.whole_seconds() {
        Some(seconds) => Cmd::expire(key, seconds.cast_signed()),
        None => Cmd::pexpire(key, lease.millis().cast_signed()),
    };
    redis.ask(command).await
}

impl Variation for SetnxExpire {
    async fn attempt(lock: &mut Varied<Self>, key: &str, name: &str, lease: Lease) -> Taken {
        let redis = &mut lock.original.redis;
        let requested = Stopwatch::start();
        let taken: bool = redis.ask(Cmd::set_nx(key, name)).await?;
        if !taken {
            return Ok(None);
        }
        // The client has taken the key, so a failure from here on leaves it behind: even if Redis itself refuses the
        // EXPIRE, the failure is not definite. The articles overlook that EXPIRE may return "no such key".
        expire(redis, key, lease)
            .await
            .map_err(|error| LockError::Ambiguous(error.to_string()))?;
        Ok(Some(lease.grant(name, requested)))
    }

    async fn extend(lock: &mut Varied<Self>, key: &str, grant: &Grant, ttl: Duration) -> Taken {
        let lease = Lease::new(ttl)?;
        let requested = Stopwatch::start();
        let there = expire(&mut lock.original.redis, key, lease).await?;
        Ok(there.then(|| lease.extended(grant, requested)))
    }

    async fn release(lock: &mut Varied<Self>, key: &str, _: &Grant) -> Result<bool, LockError> {
        let deleted: u64 = lock.original.redis.ask(Cmd::del(key)).await?;
        Ok(deleted == 1)
    }
}
