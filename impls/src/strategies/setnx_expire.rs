//! `setnx-expire`: the lock of the first articles, two commands to take it.
//!
//! **Commands.** Acquire: `SETNX key token`, and when that took the key, as a second command,
//! `EXPIRE key seconds` (`PEXPIRE key ms` where the lease is not a whole number of seconds; the
//! articles only know seconds). Extend: `EXPIRE`/`PEXPIRE`. Release: `DEL key`.
//!
//! **From.** Countless articles from before Redis 2.6.12 (2013), which brought `SET … NX PX`; the
//! `finally { del(key) }` at the end is theirs too. They have no extension; the one here is in
//! the manner of their release, and looks at nobody's token.
//!
//! **Promises.** While everything goes well: one holder at a time.
//!
//! **Does not survive.**
//! - A crash, or a lost reply, between the two commands: the key never expires (L1).
//! - A holder that is slower than its lease: its `DEL` takes away whoever's lock it finds (S1, S4).
//! - Loss of the key: failover, restart, eviction (S7, S8, S10).

use std::time::Duration;

use crate::attempts::{self, Attempts};
use crate::contract::{Grant, Lock, LockError};
use crate::lease::Lease;
use crate::patience::RETRY;
use crate::single_node::SingleNode;
use crate::stopwatch::Stopwatch;
use crate::{Context, Node, Strategy};

pub(crate) const STRATEGY: Strategy = Strategy {
    name: "setnx-expire",
    summary: "SETNX, then EXPIRE as a second command; releases with a plain DEL",
    nodes: 1,
    replicas: 0,
    options: RETRY,
    build: |nodes, context| Box::new(SetnxExpire::new(nodes, context)),
};

struct SetnxExpire {
    redis: SingleNode,
    context: Context,
}

impl SetnxExpire {
    fn new(nodes: Vec<Node>, context: Context) -> Self {
        SetnxExpire {
            redis: SingleNode::first_of(nodes),
            context,
        }
    }

    /// Gives the key its time to live. True: there was a key.
    async fn expire(&mut self, key: &str, lease: Lease) -> Result<bool, LockError> {
        let command = match lease.whole_seconds() {
            Some(seconds) => redis::Cmd::expire(key, seconds.cast_signed()),
            None => redis::Cmd::pexpire(key, lease.millis().cast_signed()),
        };
        self.redis.ask(command).await
    }
}

impl Attempts for SetnxExpire {
    fn context(&mut self) -> &mut Context {
        &mut self.context
    }

    async fn attempt(
        &mut self,
        key: &str,
        name: &str,
        lease: Lease,
    ) -> Result<Option<Grant>, LockError> {
        let asked = Stopwatch::start();
        let taken: bool = self.redis.ask(redis::Cmd::set_nx(key, name)).await?;
        if !taken {
            return Ok(None);
        }
        // The key is ours already, so whatever goes wrong now has left something behind: not even
        // Redis's own refusal of EXPIRE makes the failure a definite one. That EXPIRE may answer
        // "no such key" is a thing that the articles overlook.
        self.expire(key, lease)
            .await
            .map_err(|error| LockError::Ambiguous(error.to_string()))?;
        Ok(Some(lease.grant(name, asked)))
    }
}

impl Lock for SetnxExpire {
    async fn acquire(
        &mut self,
        key: &str,
        ttl: Duration,
        wait: Duration,
    ) -> Result<Option<Grant>, LockError> {
        attempts::acquire(self, key, ttl, wait).await
    }

    async fn extend(
        &mut self,
        key: &str,
        grant: &Grant,
        ttl: Duration,
    ) -> Result<Option<Grant>, LockError> {
        let lease = Lease::new(ttl)?;
        let asked = Stopwatch::start();
        let there = self.expire(key, lease).await?;
        Ok(there.then(|| lease.extended(grant, asked)))
    }

    async fn release(&mut self, key: &str, _grant: &Grant) -> Result<bool, LockError> {
        let deleted: u64 = self.redis.ask(redis::Cmd::del(key)).await?;
        Ok(deleted == 1)
    }
}
