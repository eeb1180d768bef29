//! `pubsub`: a lock that counts holds in a hash, and whose release is published to its waiters.
//!
//! **Commands.** Acquire: `take_or_ttl.lua` (`EXISTS`, `HEXISTS`, `HINCRBY key client 1`, `PEXPIRE key ms`; `PTTL` if
//! another client has it). If the key is taken: `SUBSCRIBE key:released` on a separate connection, the script again,
//! and then a sleep until a message arrives or the time from `PTTL` is over; then the script again. The subscription
//! ends with its connection when the wait is over. Release: `release_and_publish.lua` (`HINCRBY key client -1`, and
//! after the last hold `DEL` and `PUBLISH`). Extend: `extend_hold.lua`.
//!
//! **From.** Redisson's `RLock` (`RedissonLock.tryLock(waitTime, leaseTime, unit)`). As there, a client has one name
//! for all its acquisitions, and its watchdog does not renew a lease whose length the caller has given. Redisson shares
//! one connection between many subscriptions and ends them by `UNSUBSCRIBE`.
//!
//! **Promises.** One holder at a time while Redis keeps the key and no client outlives its lease. A holder may take the
//! lock again. The lock is free after as many releases as acquisitions. A waiter gets the lock at once after a release,
//! without polling. A holder that dies publishes nothing, but a waiter checks on its own when the lease is over (L8:
//! redisson#5761).
//!
//! **Does not survive.**
//! - A lost reply: the client repeats the request, finds its own name, and then has two holds, but counts only one. Its
//!   release ends only one hold, and like Redisson's `unlock()` returns without an error. The lock stays taken until
//!   the lease that began then is over, or the same client comes back (S11: redisson#7367). The same happens after a
//!   release that did not arrive.
//! - A holder that is slower than its lease (S1), or that gets its grant too late (S5).
//! - Loss of the key: failover, restart, a jump of the server's clock, eviction (S7 to S10).
//! - A server that is out of memory: it refuses `HINCRBY` even in a release.

use std::sync::LazyLock;
use std::time::Duration;

use redis::Script;

use crate::contract::{Grant, Lock, LockError, Taken};
use crate::lease::Lease;
use crate::node::Subscription;
use crate::single_node::SingleNode;
use crate::stopwatch::{Deadline, Stopwatch};
use crate::{BuiltInLock, Canceller, Context, Kind, Node};

/// Takes the lock, or returns the remaining time of its holder's lease.
static TAKE_OR_TTL: LazyLock<Script> =
    LazyLock::new(|| Script::new(include_str!("take_or_ttl.lua")));

/// Decrements the number of holds, and publishes the end of the last one.
static RELEASE_AND_PUBLISH: LazyLock<Script> =
    LazyLock::new(|| Script::new(include_str!("release_and_publish.lua")));

/// Extends the lease of a holder.
static EXTEND_HOLD: LazyLock<Script> =
    LazyLock::new(|| Script::new(include_str!("extend_hold.lua")));

/// Lease of leftover holds, for a client that has taken no lock yet: Redisson's `lockWatchdogTimeout`.
const DEFAULT_LEASE_MS: u64 = 30_000;

pub(crate) const LOCK: BuiltInLock = BuiltInLock {
    name: "pubsub",
    summary: "holds counted in a hash; waiters subscribe until a release in Lua is published",
    nodes: 1,
    replicas: 0,
    kind: Kind::Mutex,
    options: &[],
    build: |nodes, context| Box::new(PubSub::new(nodes, context, true)),
};

pub(crate) struct PubSub {
    redis: SingleNode,
    /// Name in all acquisitions, by which the server recognises a holder that takes the lock again.
    name: String,
    canceller: Canceller,
    /// Lease of the last acquisition.
    lease_ms: u64,
    /// If true, a client tries again between its subscription and its sleep.
    tries_when_subscribed: bool,
}

/// The result of an attempt.
enum Attempt {
    Taken(Grant),
    /// Another client has the lock. Its lease ends after this time, or never if the time is `None`.
    Held(Option<Duration>),
}

fn channel(key: &str) -> String {
    format!("{key}:released")
}

impl PubSub {
    /// Creates a client. `tries_when_subscribed` is `false` for a mutant.
    pub(crate) fn new(nodes: Vec<Node>, mut context: Context, tries_when_subscribed: bool) -> Self {
        PubSub {
            redis: SingleNode::first_of(nodes),
            name: context.token(),
            canceller: context.canceller,
            lease_ms: DEFAULT_LEASE_MS,
            tries_when_subscribed,
        }
    }

    async fn attempt(&mut self, key: &str, lease: Lease) -> Result<Attempt, LockError> {
        let requested = Stopwatch::start();
        let held: Option<i64> = TAKE_OR_TTL
            .key(key)
            .arg(&self.name)
            .arg(lease.millis())
            .invoke_async(self.redis.connection()?)
            .await?;
        Ok(match held {
            None => Attempt::Taken(lease.grant(&self.name, requested)),
            Some(left) => Attempt::Held(u64::try_from(left).ok().map(Duration::from_millis)),
        })
    }

    /// Makes attempts until `until`, each after a message or the end of the holder's lease.
    async fn attempts(&mut self, key: &str, lease: Lease, until: Deadline) -> Taken {
        let mut subscription = None;
        loop {
            let held_for = match self.attempt(key, lease).await? {
                Attempt::Taken(grant) => return Ok(Some(grant)),
                Attempt::Held(held_for) => held_for,
            };
            if until.left().is_zero() || self.canceller.is_cancelled() {
                return Ok(None);
            }
            subscription = match subscription {
                // A message from before the subscription is missed, so try again.
                None => {
                    let subscribed = self.redis.connection()?.subscribe(&channel(key)).await?;
                    if self.tries_when_subscribed {
                        Some(subscribed)
                    } else {
                        released(subscribed, None, until, &self.canceller).await
                    }
                }
                Some(subscribed) => released(subscribed, held_for, until, &self.canceller).await,
            };
        }
    }
}

/// Sleeps until a message arrives, the holder's lease or the wait is over, or the client gives up. Returns the
/// subscription unless it broke; then the caller needs another one.
async fn released(
    mut subscription: Box<dyn Subscription>,
    held_for: Option<Duration>,
    until: Deadline,
    canceller: &Canceller,
) -> Option<Box<dyn Subscription>> {
    let left = until.left();
    let sleep = held_for.map_or(left, |held_for| held_for.min(left));
    let heard = tokio::time::timeout(sleep, subscription.message());
    let heard = tokio::select! {
        biased;
        () = canceller.cancelled() => return Some(subscription),
        heard = heard => heard,
    };
    (!matches!(heard, Ok(Err(_)))).then_some(subscription)
}

impl Lock for PubSub {
    async fn acquire(&mut self, key: &str, ttl: Duration, wait: Duration) -> Taken {
        let lease = Lease::new(ttl)?;
        let until = Deadline::after(wait);
        let grant = self.attempts(key, lease, until).await?;
        if grant.is_some() {
            self.lease_ms = lease.millis();
        }
        Ok(grant)
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
        let left: Option<u64> = RELEASE_AND_PUBLISH
            .key(key)
            .key(channel(key))
            .arg(&grant.token)
            .arg(self.lease_ms)
            .invoke_async(self.redis.connection()?)
            .await?;
        Ok(left.is_some())
    }
}
