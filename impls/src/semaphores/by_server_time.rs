//! `semaphore`: permits with an owner and an expiry, by the clock of the server.
//!
//! **Commands.** Acquire: `take_permit.lua` (`TIME`, `ZREMRANGEBYSCORE` up to now, `ZCARD`, and if as many permits are
//! left as were requested, `ZADD key (now + ttl) token` for each of them and `PEXPIRE key`). Extend:
//! `extend_permit.lua` (`ZSCORE`, `ZADD`). Release: `ZREM key token` with all of its permits.
//!
//! **From.** "Redis in Action" (Carlson 2013), section 6.3, with the clock of the server instead of the client's, and
//! one script instead of a transaction; redis-semaphore for Node.js works like this.
//!
//! **Promises.** No more holders than permits while Redis keeps the key and no client outlives its lease. A permit
//! whose holder dies comes back when its lease is over. A release gives back only the client's own permit, however
//! often it is sent.
//!
//! **Does not survive.**
//! - A holder that is slower than its lease (S1), or that gets its grant too late (S5).
//! - Loss of the key: failover, restart, a jump of the server's clock, eviction (S7 to S10).

use std::sync::LazyLock;
use std::time::Duration;

use redis::{Cmd, Script};

use crate::attempts::Attempts;
use crate::contract::{Grant, Lock, LockError, Taken};
use crate::lease::Lease;
use crate::permits::{self, TakesPermits};
use crate::single_node::SingleNode;
use crate::stopwatch::Stopwatch;
use crate::{BuiltInLock, Context, Kind, Node, patience};

static TAKE_PERMIT: LazyLock<Script> =
    LazyLock::new(|| Script::new(include_str!("take_permit.lua")));

/// Gives a permit a new lease.
static EXTEND_PERMIT: LazyLock<Script> =
    LazyLock::new(|| Script::new(include_str!("extend_permit.lua")));

pub(crate) const LOCK: BuiltInLock = BuiltInLock {
    name: "semaphore",
    summary: "semaphore: holders in a sorted set by the ends of their leases, by the server's clock",
    nodes: 1,
    replicas: 0,
    kind: Kind::Semaphore,
    options: patience::RETRY,
    build: |nodes, context| Box::new(Semaphore::new(nodes, context, Clock::Server)),
};

/// The clock that measures the leases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Clock {
    /// The server's.
    Server,
    /// The wall clock of each client.
    Client,
}

pub(crate) struct Semaphore {
    pub(crate) redis: SingleNode,
    pub(crate) context: Context,
    clock: Clock,
    /// Number of permits that the current attempt takes.
    pub(crate) permits: u32,
}

impl Semaphore {
    pub(crate) fn new(nodes: Vec<Node>, context: Context, clock: Clock) -> Self {
        Semaphore {
            redis: SingleNode::first_of(nodes),
            context,
            clock,
            permits: 1,
        }
    }

    /// Returns the client's time in milliseconds, or `None` if the server's clock is used.
    fn now_ms(&self) -> Option<u64> {
        let since_epoch = self.context.wall_clock.since_epoch();
        let now_ms = u64::try_from(since_epoch.as_millis()).unwrap_or(u64::MAX);
        (self.clock == Clock::Client).then_some(now_ms)
    }
}

impl Attempts for Semaphore {
    fn context(&mut self) -> &mut Context {
        &mut self.context
    }

    fn name(&mut self) -> String {
        permits::token(&self.context.token(), self.permits)
    }

    async fn attempt(&mut self, key: &str, name: &str, lease: Lease) -> Taken {
        let requested = Stopwatch::start();
        let mut take = TAKE_PERMIT.key(key);
        take.arg(name)
            .arg(lease.millis())
            .arg(self.context.capacity)
            .arg(self.permits);
        if let Some(now_ms) = self.now_ms() {
            take.arg(now_ms);
        }
        let taken: bool = take.invoke_async(self.redis.connection()?).await?;
        Ok(taken.then(|| lease.grant(name, requested)))
    }
}

impl TakesPermits for Semaphore {
    fn set_permits(&mut self, permits: u32) {
        self.permits = permits;
    }
}

impl Lock for Semaphore {
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

    async fn extend(&mut self, key: &str, grant: &Grant, ttl: Duration) -> Taken {
        let lease = Lease::new(ttl)?;
        let requested = Stopwatch::start();
        let mut extend = EXTEND_PERMIT.key(key);
        extend
            .arg(&grant.token)
            .arg(lease.millis())
            .arg(permits::permits_of(grant));
        if let Some(now_ms) = self.now_ms() {
            extend.arg(now_ms);
        }
        let extended: bool = extend.invoke_async(self.redis.connection()?).await?;
        Ok(extended.then(|| lease.extended(grant, requested)))
    }

    async fn release(&mut self, key: &str, grant: &Grant) -> Result<bool, LockError> {
        let names = permits::names(grant);
        let removed: usize = self.redis.ask(Cmd::zrem(key, &names)).await?;
        Ok(removed == names.len())
    }

    fn kind(&self) -> Kind {
        Kind::Semaphore
    }
}
