//! `getset`: a lock whose value is its own expiry, measured by the clients' wall clocks.
//!
//! **Commands.** Acquire: `SETNX key expiry`, where the expiry is this client's wall clock plus
//! the lease plus 1, in milliseconds. If the key is taken: `GET key`, and if that expiry has passed
//! by this client's clock, `GETSET key expiry`. A client that gets an expired value back has the
//! lock. The key has no TTL. Extend: `GET`, and `GETSET` if not yet expired. Release: `GET`, and
//! `DEL` if not yet expired.
//!
//! **From.** The page of `SETNX` in the Redis documentation, "Design pattern: Locking with
//! SETNX", which now warns against it, and many later articles. Neither has an extension. The one
//! here works like their release. If `GETSET` finds no value at all (it was deleted since the
//! `GET`), no client held the lock, and it counts as taken.
//!
//! **Promises.** No lock is held for ever, although it is taken by one command without a TTL.
//!
//! **Does not survive.**
//! - Clients whose clocks disagree: the one that is ahead takes locks that are still held (S9).
//! - A holder that is slower than its lease: its release checks only the time, not whose lock it
//!   is, and deletes its successor's (S1, S4).
//! - Two clients in the same millisecond: the value is a time and does not identify a holder (S12).
//! - Losers of the `GETSET`, each of which postpones the winner's expiry (L12).
//! - Loss of the key: failover, restart, eviction (S7, S8, S10).

use std::time::Duration;

use crate::attempts::{self, Attempts};
use crate::contract::{Grant, Lock, LockError, Taken};
use crate::lease::Lease;
use crate::single_node::SingleNode;
use crate::stopwatch::Stopwatch;
use crate::{BuiltInLock, Context, Node};

pub(crate) const LOCK: BuiltInLock = BuiltInLock::on_one_node(
    "getset",
    "timestamp as value, takeover by GETSET; trusts the clients' wall clocks",
    |nodes, context| Box::new(GetSet::new(nodes, context)),
);

struct GetSet {
    redis: SingleNode,
    context: Context,
}

/// When the lock in the key expires, in milliseconds since the epoch. `None`: not a timestamp, so
/// this lock did not write it and may not take it over.
fn expiry_of(value: &str) -> Option<u128> {
    value.parse().ok()
}

impl GetSet {
    fn new(nodes: Vec<Node>, context: Context) -> Self {
        GetSet {
            redis: SingleNode::first_of(nodes),
            context,
        }
    }

    /// The client's wall clock, milliseconds since the epoch.
    fn now_ms(&self) -> u128 {
        self.context.wall_clock.since_epoch().as_millis()
    }

    fn new_value(&self, lease: Lease) -> String {
        (self.now_ms() + u128::from(lease.millis()) + 1).to_string()
    }

    async fn get(&mut self, key: &str) -> Result<Option<String>, LockError> {
        self.redis.ask(redis::Cmd::get(key)).await
    }

    async fn getset(&mut self, key: &str, value: &str) -> Result<Option<String>, LockError> {
        let mut command = redis::cmd("GETSET");
        command.arg(key).arg(value);
        self.redis.ask(command).await
    }
}

impl Attempts for GetSet {
    fn context(&mut self) -> &mut Context {
        &mut self.context
    }

    /// The value is a time and does not identify a holder: each attempt has its own.
    fn name(&mut self) -> String {
        String::new()
    }

    async fn attempt(&mut self, key: &str, _name: &str, lease: Lease) -> Taken {
        let asked = Stopwatch::start();
        let value = self.new_value(lease);
        let taken: bool = self.redis.ask(redis::Cmd::set_nx(key, &value)).await?;
        if taken {
            return Ok(Some(lease.grant(value, asked)));
        }
        // If the key is gone by now, wait for the next attempt, as the articles do.
        let Some(expiry) = self.get(key).await?.as_deref().and_then(expiry_of) else {
            return Ok(None);
        };
        if self.now_ms() <= expiry {
            return Ok(None);
        }
        let asked = Stopwatch::start();
        let value = self.new_value(lease);
        let ours = match self.getset(key, &value).await? {
            Some(old) => expiry_of(&old).is_some_and(|expiry| self.now_ms() > expiry),
            None => true,
        };
        Ok(ours.then(|| lease.grant(value, asked)))
    }
}

impl Lock for GetSet {
    async fn acquire(&mut self, key: &str, ttl: Duration, wait: Duration) -> Taken {
        attempts::acquire(self, key, ttl, wait).await
    }

    async fn extend(&mut self, key: &str, _grant: &Grant, ttl: Duration) -> Taken {
        let lease = Lease::new(ttl)?;
        let expiry = self.get(key).await?.as_deref().and_then(expiry_of);
        if expiry.is_none_or(|expiry| self.now_ms() >= expiry) {
            return Ok(None);
        }
        let asked = Stopwatch::start();
        let value = self.new_value(lease);
        self.getset(key, &value).await?;
        Ok(Some(lease.grant(value, asked)))
    }

    async fn release(&mut self, key: &str, _grant: &Grant) -> Result<bool, LockError> {
        let expiry = self.get(key).await?.as_deref().and_then(expiry_of);
        if expiry.is_none_or(|expiry| self.now_ms() >= expiry) {
            return Ok(false);
        }
        let deleted: u64 = self.redis.ask(redis::Cmd::del(key)).await?;
        Ok(deleted == 1)
    }
}
