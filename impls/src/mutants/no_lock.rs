//! `no-lock`: sends a `PING` to the server and grants every request, whatever the reply.
//!
//! **Commands.** `PING` before each grant, but no command that takes the lock. The mutant must send something, because
//! the run of a lock that never contacts its servers is inconclusive.
//!
//! This is the extreme case of a fail-open wrapper (S15): every exclusion checker must catch it, in every scenario in
//! which two clients compete.

use std::time::Duration;

use crate::contract::{Grant, Lock, LockError, Taken};
use crate::lease::Lease;
use crate::single_node::SingleNode;
use crate::stopwatch::Deadline;
use crate::{BuiltInLock, Context, Kind};

pub(crate) const LOCK: BuiltInLock = BuiltInLock {
    name: "no-lock",
    summary: "mutant: grants every request, whatever Redis says",
    nodes: 1,
    replicas: 0,
    kind: Kind::Mutex,
    options: &[],
    build: |nodes, context| {
        Box::new(NoLock {
            redis: SingleNode::first_of(nodes),
            context,
        })
    },
};

struct NoLock {
    redis: SingleNode,
    context: Context,
}

impl Lock for NoLock {
    async fn acquire(&mut self, _key: &str, ttl: Duration, _wait: Duration) -> Taken {
        // Fail-open: a reply, an error and a timeout are treated alike.
        let _ = self.redis.ask::<redis::Value>(redis::cmd("PING")).await;
        Ok(Some(Grant {
            token: self.context.token(),
            fence: None,
            valid_until: Some(Deadline::after(Lease::new(ttl)?.duration())),
        }))
    }

    async fn extend(&mut self, _key: &str, grant: &Grant, ttl: Duration) -> Taken {
        Ok(Some(Grant {
            valid_until: Some(Deadline::after(Lease::new(ttl)?.duration())),
            ..grant.clone()
        }))
    }

    async fn release(&mut self, _key: &str, _grant: &Grant) -> Result<bool, LockError> {
        Ok(true)
    }
}
