//! `lock-take`: extends and releases by a transaction that fails if the key has changed.
//!
//! **Commands.** Acquire: `SET key token NX PX ms`. Extend: `WATCH key`, `GET key`, and if it holds the token, `MULTI`,
//! `PEXPIRE key ms`, `EXEC` in one batch; else `UNWATCH`. Release: the same with `DEL key`. If `EXEC` returns nil, the
//! key has changed since the `WATCH`, so the client no longer had the lock.
//!
//! **From.** StackExchange.Redis: `LockTake`, `LockExtend`, `LockRelease` with its
//! `Condition.StringEqual`.
//!
//! **Promises.** The same as `set-nx-px`, without scripts. From Redis 6.0.9 on, a key that expires between `WATCH` and
//! `EXEC` counts as changed.
//!
//! **Does not survive.**
//! - A broken connection, which loses its `WATCH`: a client that reconnects between `GET` and `MULTI` deletes without
//!   any condition (S4, S14). A second user of the same connection would end the `WATCH` with its own transaction.
//! - A call that is cancelled half-way leaves its `WATCH`. The next transaction on the connection may then fail because
//!   of a key that it does not name. Each call begins with its own `WATCH` and ends with `EXEC` or `UNWATCH`, so such a
//!   failure is only one unnecessary refusal.
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

pub(crate) const LOCK: BuiltInLock = varied::<LockTake>(
    "lock-take",
    "SET NX PX; extends and releases by WATCH, GET, MULTI, EXEC",
);

#[derive(Default)]
struct LockTake;

/// Executes `change` if the key holds the token until then. Returns `true` if `change` was executed and returned 1.
async fn if_ours(
    redis: &mut SingleNode,
    key: &str,
    grant: &Grant,
    change: Cmd,
) -> Result<bool, LockError> {
    let mut watch = redis::cmd("WATCH");
    watch.arg(key);
    redis.ask::<()>(watch).await?;
    let found: Option<String> = redis.ask(Cmd::get(key)).await?;
    if found.as_ref() != Some(&grant.token) {
        redis.ask::<()>(redis::cmd("UNWATCH")).await?;
        return Ok(false);
    }
    let mut transaction = redis::pipe();
    transaction.atomic().add_command(change);
    // Nil means that another client changed the key in the meantime, so the transaction was not executed.
    let done: Option<(u64,)> = transaction.query_async(redis.connection()?).await?;
    Ok(done == Some((1,)))
}

impl Variation for LockTake {
    async fn extend(lock: &mut Varied<Self>, key: &str, grant: &Grant, ttl: Duration) -> Taken {
        let lease = Lease::new(ttl)?;
        let requested = Stopwatch::start();
        let prolong = Cmd::pexpire(key, lease.millis().cast_signed());
        let extended = if_ours(&mut lock.original.redis, key, grant, prolong).await?;
        Ok(extended.then(|| lease.extended(grant, requested)))
    }

    async fn release(lock: &mut Varied<Self>, key: &str, grant: &Grant) -> Result<bool, LockError> {
        if_ours(&mut lock.original.redis, key, grant, Cmd::del(key)).await
    }
}
