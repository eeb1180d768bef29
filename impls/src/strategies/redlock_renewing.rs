//! `redlock-renewing`: redlock whose lease is renewed in the background on all nodes.
//!
//! **Commands.** Those of `redlock`. From the grant on, a background task sends
//! `compare_and_pexpire.lua` to all nodes whenever `renew_every` (half the lease) has passed since
//! the last renewal; it counts if more than half extended and there is validity left. Where too
//! few answer, it is tried again after `retry_delay`, for as long as the lease runs. Where a
//! majority says that the key is not ours, or the validity runs out before a renewal succeeds,
//! the loss is reported and nothing more is sent; nothing is deleted either (L7). The task has
//! connections of its own, and ends before the release is sent, and with the client.
//!
//! **From.** redis.io, "Distributed Locks with Redis", "Making the algorithm more reliable:
//! Extending the lock"; the `using` of node-redlock, with its abort signal.
//!
//! **Promises.** What `redlock` does; and a holder that is alive and reaches a majority keeps the
//! lock for as long as it works, and is told when it cannot. The page asks for a limit to the
//! number of renewals, so that the lock becomes free some day; there is none here.
//!
//! **Does not survive.**
//! - A client that is frozen whole, for longer than its validity (S1, S2).
//! - A holder that lives and hangs: it keeps the lock for ever.
//! - A bare majority of which a node cannot be reached: the rest is too few to extend.
//! - A node of a bare majority that loses the key (S7, S8, S10), or loses it early (S9, K3).

use std::time::Duration;

use crate::contract::{Grant, Lock, LockError, Notice};
use crate::lease::Lease;
use crate::options::OptionSpec;
use crate::patience::{RETRY_DELAY, RETRY_JITTER};
use crate::renewal::{Habits, RENEW_EVERY, Renewals};
use crate::strategies::redlock::{DRIFT_FACTOR, NODE_TIMEOUT, Redlock, Rules};
use crate::{Context, Node, Strategy};

pub(crate) const STRATEGY: Strategy = Strategy {
    name: "redlock-renewing",
    summary: "redlock, renewed at half the lease by a background task; tells of its loss",
    nodes: 5,
    replicas: 0,
    options: OPTIONS,
    build: |nodes, context| Box::new(RedlockRenewing::new(nodes, context)),
};

const OPTIONS: &[&OptionSpec] = &[
    &RETRY_DELAY,
    &RETRY_JITTER,
    &DRIFT_FACTOR,
    &NODE_TIMEOUT,
    &RENEW_EVERY,
];

struct RedlockRenewing {
    lock: Redlock,
    renewals: Renewals,
}

impl RedlockRenewing {
    fn new(nodes: Vec<Node>, context: Context) -> Self {
        RedlockRenewing {
            lock: Redlock::new(nodes, context, Rules::PUBLISHED),
            renewals: Renewals::new(Habits::SOUND),
        }
    }

    fn watch(&mut self, key: &str, grant: &Grant, lease: Lease) {
        let terms = self.lock.terms(lease);
        let mut nodes = self.lock.nodes_apart();
        let (key, token) = (key.to_owned(), grant.token.clone());
        let renew = async move || terms.extend(&mut nodes, &key, &token).await;
        let context = &self.lock.context;
        self.renewals.begin(context, grant, lease.duration(), renew);
    }
}

impl Lock for RedlockRenewing {
    async fn acquire(
        &mut self,
        key: &str,
        ttl: Duration,
        wait: Duration,
    ) -> Result<Option<Grant>, LockError> {
        let lease = Lease::new(ttl)?;
        let grant = Lock::acquire(&mut self.lock, key, ttl, wait).await?;
        if let Some(grant) = &grant {
            self.watch(key, grant, lease);
        }
        Ok(grant)
    }

    async fn extend(
        &mut self,
        key: &str,
        grant: &Grant,
        ttl: Duration,
    ) -> Result<Option<Grant>, LockError> {
        let lease = Lease::new(ttl)?;
        let extended = Lock::extend(&mut self.lock, key, grant, ttl).await?;
        if let Some(grant) = &extended {
            self.watch(key, grant, lease);
        }
        Ok(extended)
    }

    async fn release(&mut self, key: &str, grant: &Grant) -> Result<bool, LockError> {
        self.renewals.end(grant);
        Lock::release(&mut self.lock, key, grant).await
    }

    async fn notice(&mut self) -> Notice {
        self.renewals.notice().await
    }
}
