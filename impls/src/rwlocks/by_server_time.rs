//! `rwlock`: readers and writers with an owner and an expiry each, by the clock of the server.
//!
//! **Commands.** Acquire: `take_hold.lua` (`TIME`, `ZREMRANGEBYSCORE` up to now; a writer needs `ZCARD` = 0, and leaves
//! a mark in `key:waiting` otherwise; a reader requires that no writer holds the lock or waits for it;
//! `ZADD key (now + ttl) holder`). Extend: `extend_hold.lua` (`ZSCORE`, `ZADD`). Release: `ZREM key holder`.
//!
//! **From.** `semaphore`, with two kinds of holders. The mark of a waiting writer comes from fair read/write locks
//! within one process.
//!
//! **Promises.** No writer together with another client while Redis keeps the key and no client outlives its lease.
//! Each holder has its own lease, whatever the others do. A reader that comes after a waiting writer waits for it. A
//! release ends only the hold of its own client, however late it arrives.
//!
//! **Does not survive.**
//! - A holder that is slower than its lease (S1), or that gets its grant too late (S5).
//! - Loss of the key: failover, restart, a jump of the server's clock, eviction (S7 to S10).
//! - Writers that never leave a gap: readers then wait until there is one. A writer that gives up keeps readers out
//!   until its mark expires, after one lease.

use std::sync::LazyLock;
use std::time::Duration;

use redis::{Cmd, Script};

use crate::attempts::{self, Attempts};
use crate::contract::{Grant, Lock, LockError, Taken};
use crate::lease::Lease;
use crate::single_node::SingleNode;
use crate::stopwatch::Stopwatch;
use crate::{BuiltInLock, Context, Kind, Node, patience};

/// Grants the lock to a reader or a writer.
static TAKE_HOLD: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("take_hold.lua")));

/// Gives a reader or a writer a new lease.
static EXTEND_HOLD: LazyLock<Script> =
    LazyLock::new(|| Script::new(include_str!("extend_hold.lua")));

pub(crate) const LOCK: BuiltInLock = BuiltInLock {
    name: "rwlock",
    summary: "read/write lock: holders in a sorted set by the ends of their leases, and marks of waiting writers",
    nodes: 1,
    replicas: 0,
    kind: Kind::ReadWrite,
    options: patience::RETRY,
    build: |nodes, context| Box::new(ReadWriteLock::new(nodes, context)),
};

pub(crate) struct ReadWriteLock {
    pub(crate) redis: SingleNode,
    pub(crate) context: Context,
    /// Whether the current attempt is a reader's.
    pub(crate) is_reader: bool,
}

impl ReadWriteLock {
    pub(crate) fn new(nodes: Vec<Node>, context: Context) -> Self {
        ReadWriteLock {
            redis: SingleNode::first_of(nodes),
            context,
            is_reader: false,
        }
    }

    /// Returns the name of a holder, which states whether it reads or writes.
    pub(crate) fn holder(&self, name: &str) -> String {
        format!("{}:{name}", if self.is_reader { 'r' } else { 'w' })
    }
}

impl Attempts for ReadWriteLock {
    fn context(&mut self) -> &mut Context {
        &mut self.context
    }

    async fn attempt(&mut self, key: &str, name: &str, lease: Lease) -> Taken {
        let requested = Stopwatch::start();
        let holder = self.holder(name);
        let taken: bool = TAKE_HOLD
            .key(key)
            .key(format!("{key}:waiting"))
            .arg(&holder)
            .arg(lease.millis())
            .invoke_async(self.redis.connection()?)
            .await?;
        Ok(taken.then(|| lease.grant(holder, requested)))
    }
}

impl Lock for ReadWriteLock {
    async fn acquire(&mut self, key: &str, ttl: Duration, wait: Duration) -> Taken {
        self.is_reader = false;
        attempts::acquire(self, key, ttl, wait).await
    }

    async fn acquire_shared(&mut self, key: &str, ttl: Duration, wait: Duration) -> Taken {
        self.is_reader = true;
        attempts::acquire(self, key, ttl, wait).await
    }

    async fn extend(&mut self, key: &str, grant: &Grant, ttl: Duration) -> Taken {
        let lease = Lease::new(ttl)?;
        let requested = Stopwatch::start();
        let extended: bool = EXTEND_HOLD
            .key(key)
            .arg(&grant.token)
            .arg(lease.millis())
            .invoke_async(self.redis.connection()?)
            .await?;
        Ok(extended.then(|| lease.extended(grant, requested)))
    }

    async fn release(&mut self, key: &str, grant: &Grant) -> Result<bool, LockError> {
        let removed: u64 = self.redis.ask(Cmd::zrem(key, &grant.token)).await?;
        Ok(removed == 1)
    }

    fn kind(&self) -> Kind {
        Kind::ReadWrite
    }
}
