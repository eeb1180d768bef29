//! `get-then-del`: a token that is compared in the client.
//!
//! **Commands.** Acquire: `SET key token NX PX ms`. Extend: `GET key`, and if it holds the token,
//! `PEXPIRE key ms`. Release: `GET key`, and if it holds the token, `DEL key`.
//!
//! **From.** Articles that add a token to `setnx-expire`, so that no client deletes another's lock,
//! but compare it in the program. ShedLock and csredis did so for years.
//!
//! **Promises.** A late release finds another client's token and deletes nothing.
//!
//! **Does not survive.**
//! - A pause between the `GET` and the `DEL`, during which the lease expires and another client
//!   takes the lock: the `DEL` deletes it (S4). The `PEXPIRE` then extends another client's lease.
//! - A holder that is slower than its lease (S1), or that gets its grant too late (S5).
//! - Loss of the key: failover, restart, a jump of the server's clock, eviction (S7 to S10).

use std::time::Duration;

use redis::Cmd;

use crate::BuiltInLock;
use crate::contract::{Grant, LockError, Taken};
use crate::lease::Lease;
use crate::single_node::SingleNode;
use crate::stopwatch::Stopwatch;
use crate::variation::{Variation, Varied, varied};

pub(crate) const LOCK: BuiltInLock = varied::<GetThenDel>(
    "get-then-del",
    "SET NX PX; releases by GET, a comparison in the client, and DEL",
);

#[derive(Default)]
struct GetThenDel;

async fn is_ours(redis: &mut SingleNode, key: &str, grant: &Grant) -> Result<bool, LockError> {
    let found: Option<String> = redis.ask(Cmd::get(key)).await?;
    Ok(found.as_ref() == Some(&grant.token))
}

impl Variation for GetThenDel {
    async fn extend(lock: &mut Varied<Self>, key: &str, grant: &Grant, ttl: Duration) -> Taken {
        let lease = Lease::new(ttl)?;
        let redis = &mut lock.original.redis;
        if !is_ours(redis, key, grant).await? {
            return Ok(None);
        }
        let requested = Stopwatch::start();
        let command = Cmd::pexpire(key, lease.millis().cast_signed());
        let there: bool = redis.ask(command).await?;
        Ok(there.then(|| lease.extended(grant, requested)))
    }

    async fn release(lock: &mut Varied<Self>, key: &str, grant: &Grant) -> Result<bool, LockError> {
        let redis = &mut lock.original.redis;
        if !is_ours(redis, key, grant).await? {
            return Ok(false);
        }
        let deleted: u64 = redis.ask(Cmd::del(key)).await?;
        Ok(deleted == 1)
    }
}
