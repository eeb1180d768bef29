//! `lock-take`: extends and releases by a transaction that fails if the key has changed.
//!
//! **Commands.** Acquire: `SET key token NX PX ms`. Extend: `WATCH key`, `GET key`, and if the
//! token is in it, `MULTI`, `PEXPIRE key ms`, `EXEC` in one go; else `UNWATCH`. Release: the same
//! with `DEL key`. An `EXEC` that answers nil found the key changed since the `WATCH`: it was not
//! ours any more.
//!
//! **From.** StackExchange.Redis: `LockTake`, `LockExtend`, `LockRelease` with its
//! `Condition.StringEqual`.
//!
//! **Promises.** What `set-nx-px` does, without scripts. A key that expires between `WATCH` and
//! `EXEC` counts as changed, from Redis 6.0.9 on.
//!
//! **Does not survive.**
//! - What belongs to the connection: `WATCH` is forgotten when it breaks, and a client that
//!   reconnects between `GET` and `MULTI` deletes without any condition (S4, S14). A second user
//!   of the same connection would end the `WATCH` with a transaction of its own.
//! - A call that is given up half-way leaves its `WATCH`; the next transaction on the connection
//!   may then fail for a key that it does not name. Each call begins with a `WATCH` of its own
//!   and ends with `EXEC` or `UNWATCH`, so such a failure is only a refusal too much.
//! - A holder that is slower than its lease (S1), or is told of its grant too late (S5).
//! - Loss of the key: failover, restart, a clock that leaps on the server, eviction (S7 to S10).

use std::time::Duration;

use redis::Cmd;

use crate::Strategy;
use crate::contract::{Grant, LockError};
use crate::lease::Lease;
use crate::patience::RETRY;
use crate::stopwatch::Stopwatch;
use crate::strategies::set_nx_px::SetNxPx;
use crate::variation::Variation;

pub(crate) const STRATEGY: Strategy = Strategy {
    name: "lock-take",
    summary: "SET NX PX; extends and releases by WATCH, GET, MULTI, EXEC",
    nodes: 1,
    replicas: 0,
    options: RETRY,
    build: |nodes, context| Box::new(LockTake(SetNxPx::new(nodes, context))),
};

struct LockTake(SetNxPx);

impl LockTake {
    /// Carries out `change` if the token is in the key, and still is when it happens. True: it
    /// was, and `change` answered 1.
    async fn if_ours(&mut self, key: &str, token: &str, change: Cmd) -> Result<bool, LockError> {
        let mut watch = redis::cmd("WATCH");
        watch.arg(key);
        self.0.redis.ask::<()>(watch).await?;
        let found: Option<String> = self.0.redis.ask(Cmd::get(key)).await?;
        if found.as_deref() != Some(token) {
            self.0.redis.ask::<()>(redis::cmd("UNWATCH")).await?;
            return Ok(false);
        }
        let mut transaction = redis::pipe();
        transaction.atomic().add_command(change);
        // Nil: the key was changed by somebody else meanwhile, and nothing was done.
        let done: Option<(u64,)> = transaction.query_async(self.0.redis.connection()?).await?;
        Ok(done == Some((1,)))
    }
}

impl Variation for LockTake {
    type Original = SetNxPx;

    fn original(&mut self) -> &mut SetNxPx {
        &mut self.0
    }

    async fn extend(
        &mut self,
        key: &str,
        grant: &Grant,
        ttl: Duration,
    ) -> Result<Option<Grant>, LockError> {
        let lease = Lease::new(ttl)?;
        let asked = Stopwatch::start();
        let prolong = Cmd::pexpire(key, lease.millis().cast_signed());
        let extended = self.if_ours(key, &grant.token, prolong).await?;
        Ok(extended.then(|| lease.extended(grant, asked)))
    }

    async fn release(&mut self, key: &str, grant: &Grant) -> Result<bool, LockError> {
        self.if_ours(key, &grant.token, Cmd::del(key)).await
    }
}
