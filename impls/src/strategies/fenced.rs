//! `fenced`: `set-nx-px` that numbers its grants, so that the resource can tell old from new.
//!
//! **Commands.** Acquire: `set_and_count.lua` on the key and on `key:fence`, its counter. Extend:
//! `compare_and_pexpire.lua`. Release: `compare_and_delete.lua`. The counter has no time to live,
//! and no release touches it.
//!
//! **From.** Kleppmann 2016, "How to do distributed locking", "Making the lock safe with
//! fencing"; Redisson's `RFencedLock` counts in the script that takes the lock, too.
//!
//! **Promises.** What `set-nx-px` does; and the fencing tokens increase strictly in the order in
//! which the lock was held, because taking the key and counting are one step of one server:
//! whoever took it later counted later, and whoever did not get it did not count. So a resource
//! that refuses tokens lower than the highest it has seen shuts out every holder that outlived
//! its lease. An extension keeps its token: it is still the same hold.
//!
//! **Does not survive.**
//! - A resource that does not look at the token.
//! - Loss of the counter: failover before it was replicated, restart without persistence, flush,
//!   eviction. It then counts anew from below, and the resource refuses the rightful holder, or
//!   two have the same number (S13 after S7, S8, S10).
//! - A grant whose reply comes after the lease has run out is handed on (S5): the token is what
//!   saves the resource then.

use std::time::Duration;

use redis::Script;

use crate::contract::{Grant, Lock, LockError};
use crate::lease::Lease;
use crate::patience::RETRY;
use crate::stopwatch::Stopwatch;
use crate::strategies::set_nx_px::SetNxPx;
use crate::token::random_token;
use crate::{Context, Node, Strategy};

pub(crate) const STRATEGY: Strategy = Strategy {
    name: "fenced",
    summary: "set-nx-px with a fencing token, counted in the same script",
    nodes: 1,
    replicas: 0,
    options: RETRY,
    build: |nodes, context| Box::new(Fenced::new(nodes, context)),
};

struct Fenced {
    /// Extends and releases in the same way.
    rest: SetNxPx,
    take: Script,
}

impl Fenced {
    fn new(nodes: Vec<Node>, context: Context) -> Self {
        Fenced {
            rest: SetNxPx::new(nodes, context),
            take: Script::new(include_str!("set_and_count.lua")),
        }
    }
}

impl Lock for Fenced {
    async fn acquire(
        &mut self,
        key: &str,
        ttl: Duration,
        wait: Duration,
    ) -> Result<Option<Grant>, LockError> {
        let lease = Lease::new(ttl)?;
        let patience = self.rest.context.patience(wait, ttl);
        let token = random_token(&mut self.rest.context.entropy);
        loop {
            let asked = Stopwatch::start();
            let number: u64 = self
                .take
                .key(key)
                .key(format!("{key}:fence"))
                .arg(&token)
                .arg(lease.millis())
                .invoke_async(self.rest.redis.connection()?)
                .await?;
            if number > 0 {
                return Ok(Some(Grant {
                    token,
                    fence: Some(number),
                    valid_for: Some(lease.left_after(asked.elapsed())),
                }));
            }
            let entropy = &mut self.rest.context.entropy;
            if !patience.another_attempt(entropy).await {
                return Ok(None);
            }
        }
    }

    async fn extend(
        &mut self,
        key: &str,
        grant: &Grant,
        ttl: Duration,
    ) -> Result<Option<Grant>, LockError> {
        Lock::extend(&mut self.rest, key, grant, ttl).await
    }

    async fn release(&mut self, key: &str, grant: &Grant) -> Result<bool, LockError> {
        Lock::release(&mut self.rest, key, grant).await
    }
}
