//! `semaphore-counter`: the number of taken permits.
//!
//! **Commands.** Acquire: `INCR key`, and if the number exceeds the permits, `DECR key`. Release: `DECR key`.
//!
//! **From.** Articles and answers on how to limit concurrency with Redis; Infisical and vmpooler did so.
//!
//! **Promises.** No more holders than permits, as long as every acquisition is followed by exactly one release.
//!
//! **Does not survive.**
//! - A holder that dies, a lost reply, or a lost release: no client gives its permit back.
//! - A release without a permit, or a release that is sent twice: it adds a permit that does not exist.
//! - Loss of the key: failover, restart, eviction (S7 to S10). The late releases then make the number negative.

use std::time::Duration;

use redis::Cmd;

use crate::attempts::{self, Attempts};
use crate::contract::{Grant, Lock, LockError, Taken};
use crate::lease::Lease;
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
}

impl SemaphoreCounter {
    pub(crate) fn new(nodes: Vec<Node>, context: Context) -> Self {
        SemaphoreCounter {
            redis: SingleNode::first_of(nodes),
            context,
        }
    }
}

impl Attempts for SemaphoreCounter {
    fn context(&mut self) -> &mut Context {
        &mut self.context
    }

    async fn attempt(&mut self, key: &str, name: &str, _: Lease) -> Taken {
        let taken: i64 = self.redis.ask(Cmd::incr(key, 1)).await?;
        if taken > i64::from(self.context.capacity) {
            self.redis.ask::<i64>(Cmd::decr(key, 1)).await?;
            return Ok(None);
        }
        Ok(Some(Grant {
            token: name.to_owned(),
            fence: None,
            valid_until: None,
        }))
    }
}

impl Lock for SemaphoreCounter {
    async fn acquire(&mut self, key: &str, ttl: Duration, wait: Duration) -> Taken {
        attempts::acquire(self, key, ttl, wait).await
    }

    async fn release(&mut self, key: &str, _: &Grant) -> Result<bool, LockError> {
        self.redis.ask::<i64>(Cmd::decr(key, 1)).await?;
        Ok(true)
    }

    fn kind(&self) -> Kind {
        Kind::Semaphore
    }
}
