//! `semaphore-counter`: the number of taken permits.
//!
//! **Commands.** Acquire: `INCRBY key PERMITS`, and if the number exceeds the permits, `DECRBY key PERMITS`. Release:
//! `DECRBY key PERMITS`.
//!
//! **From.** Articles and answers on how to limit concurrency with Redis; Infisical and vmpooler did so.
//!
//! **Promises.** No more holders than permits, as long as every acquisition is followed by exactly one release.
//!
//! **Does not survive.**
//! - A holder that dies, a lost reply, or a lost release: no client gives the permit back.
//! - A release without a permit, or a release that is sent twice: it adds a permit that does not exist.
//! - Loss of the key: failover, restart, eviction (S7 to S10). The late releases then make the number negative.

use std::time::Duration;

use redis::Cmd;

use crate::attempts::Attempts;
use crate::contract::{Grant, Lock, LockError, Taken};
use crate::lease::Lease;
use crate::permits::{self, TakesPermits};
use crate::single_node::SingleNode;
use crate::{BuiltInLock, Context, Kind, Node, patience};

pub(crate) const LOCK: BuiltInLock = BuiltInLock {
    name: "semaphore-counter",
    summary: "semaphore: INCR, and DECR if there were too many; releases by DECR",
    nodes: 1,
    replicas: 0,
    kind: Kind::Semaphore,
    options: patience::RETRY,
    build: |nodes, context| Box::new(SemaphoreCounter::new(nodes, context)),
};

pub(crate) struct SemaphoreCounter {
    pub(crate) redis: SingleNode,
    pub(crate) context: Context,
    /// Number of permits that the current attempt takes.
    pub(crate) permits: u32,
}

impl SemaphoreCounter {
    pub(crate) fn new(nodes: Vec<Node>, context: Context) -> Self {
        SemaphoreCounter {
            redis: SingleNode::first_of(nodes),
            context,
            permits: 1,
        }
    }
}

impl Attempts for SemaphoreCounter {
    fn context(&mut self) -> &mut Context {
        &mut self.context
    }

    fn name(&mut self) -> String {
        permits::token(&self.context.token(), self.permits)
    }

    async fn attempt(&mut self, key: &str, name: &str, _: Lease) -> Taken {
        let taken: i64 = self.redis.ask(Cmd::incr(key, self.permits)).await?;
        if taken > i64::from(self.context.capacity) {
            self.redis.ask::<i64>(Cmd::decr(key, self.permits)).await?;
            return Ok(None);
        }
        Ok(Some(Grant {
            token: name.to_owned(),
            fence: None,
            valid_until: None,
        }))
    }
}

impl TakesPermits for SemaphoreCounter {
    fn set_permits(&mut self, permits: u32) {
        self.permits = permits;
    }
}

impl Lock for SemaphoreCounter {
    async fn acquire(&mut self, key: &str, ttl: Duration, wait: Duration) -> Taken {
        permits::acquire(self, key, 1, (ttl, wait)).await
    }

    fn takes_several_permits(&self) -> bool {
        true
    }

    async fn acquire_permits(
        &mut self,
        key: &str,
        permits: u32,
        ttl: Duration,
        wait: Duration,
    ) -> Taken {
        permits::acquire(self, key, permits, (ttl, wait)).await
    }

    async fn release(&mut self, key: &str, grant: &Grant) -> Result<bool, LockError> {
        let permits = permits::permits_of(grant);
        self.redis.ask::<i64>(Cmd::decr(key, permits)).await?;
        Ok(true)
    }

    fn kind(&self) -> Kind {
        Kind::Semaphore
    }
}
