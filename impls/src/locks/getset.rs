//! `getset`: a lock whose value is its own expiry, measured by the clients' wall clocks.
//!
//! **Commands.** Acquire: `SETNX key expiry`, where the expiry is this client's wall clock plus the lease plus 1, in
//! milliseconds. If the key is taken: `GET key`, and if that expiry has passed by this client's clock,
//! `GETSET key expiry`. If `GETSET` returns an expired value, the client has the lock. The key has no TTL. Extend:
//! `GET`, and `GETSET` if not yet expired. Release: `GET`, and `DEL` if not yet expired.
//!
//! **From.** The page of `SETNX` in the Redis documentation, "Design pattern: Locking with SETNX", which now warns
//! against it, and many later articles. Neither has an extension. The extension here works like their release. If
//! `GETSET` finds no value at all (the key was deleted after the `GET`), no client held the lock, and it counts as
//! taken.
//!
//! **Promises.** No lock is held for ever, although one command without a TTL takes it.
//!
//! **Does not survive.**
//! - Clients whose clocks disagree: the one that is ahead takes locks that are still held (S9).
//! - A holder that is slower than its lease: its release checks only the time, not the owner, and deletes its
//!   successor's lock (S1, S4).
//! - Two clients in the same millisecond: the value is a time and does not identify a holder (S12).
//! - Losers of the `GETSET`, each of which postpones the winner's expiry (L12).
//! - Loss of the key: failover, restart, eviction (S7, S8, S10).

use std::time::Duration;

use redis::Cmd;

use crate::BuiltInLock;
use crate::contract::{Grant, LockError, Taken};
use crate::lease::Lease;
use crate::stopwatch::Stopwatch;
use crate::variation::{Variation, Varied, varied};

pub(crate) const LOCK: BuiltInLock = varied::<GetSet>(
    "getset",
    "timestamp as value, takeover by GETSET; trusts the clients' wall clocks",
);

#[derive(Default)]
struct GetSet;

/// Returns when the lock in the key expires, in milliseconds since the epoch. Returns `None` if the value is not a
/// timestamp: this lock did not write it and must not take it over.
fn expiry_of(value: &str) -> Option<u128> {
    value.parse().ok()
}

impl Varied<GetSet> {
    /// Returns the client's wall clock in milliseconds since the epoch.
    fn now_ms(&self) -> u128 {
        self.original.context.wall_clock.since_epoch().as_millis()
    }

    fn new_value(&self, lease: Lease) -> String {
        (self.now_ms() + u128::from(lease.millis()) + 1).to_string()
    }

    /// Returns when the lock in the key expires, or `None` if the key is missing or does not hold a timestamp.
    async fn expiry(&mut self, key: &str) -> Result<Option<u128>, LockError> {
        let value: Option<String> = self.original.redis.ask(Cmd::get(key)).await?;
        Ok(value.as_deref().and_then(expiry_of))
    }

    async fn getset(&mut self, key: &str, value: &str) -> Result<Option<String>, LockError> {
        let mut command = redis::cmd("GETSET");
        command.arg(key).arg(value);
        self.original.redis.ask(command).await
    }
}

impl Variation for GetSet {
    /// The value is a time and does not identify a holder, so each attempt has its own name.
    fn name(_lock: &mut Varied<Self>) -> String {
        String::new()
    }

    async fn attempt(lock: &mut Varied<Self>, key: &str, _name: &str, lease: Lease) -> Taken {
        let requested = Stopwatch::start();
        let value = lock.new_value(lease);
        let taken: bool = lock.original.redis.ask(Cmd::set_nx(key, &value)).await?;
        if taken {
            return Ok(Some(lease.grant(value, requested)));
        }
        // If the key is gone by now, wait for the next attempt, as in the articles.
        let expiry = lock.expiry(key).await?;
        if expiry.is_none_or(|expiry| lock.now_ms() <= expiry) {
            return Ok(None);
        }
        let requested = Stopwatch::start();
        let value = lock.new_value(lease);
        let ours = match lock.getset(key, &value).await? {
            Some(old) => expiry_of(&old).is_some_and(|expiry| lock.now_ms() > expiry),
            None => true,
        };
        Ok(ours.then(|| lease.grant(value, requested)))
    }

    async fn extend(lock: &mut Varied<Self>, key: &str, _grant: &Grant, ttl: Duration) -> Taken {
        let lease = Lease::new(ttl)?;
        let expiry = lock.expiry(key).await?;
        if expiry.is_none_or(|expiry| lock.now_ms() >= expiry) {
            return Ok(None);
        }
        let requested = Stopwatch::start();
        let value = lock.new_value(lease);
        lock.getset(key, &value).await?;
        Ok(Some(lease.grant(value, requested)))
    }

    async fn release(lock: &mut Varied<Self>, key: &str, _: &Grant) -> Result<bool, LockError> {
        let expiry = lock.expiry(key).await?;
        if expiry.is_none_or(|expiry| lock.now_ms() >= expiry) {
            return Ok(false);
        }
        let deleted: u64 = lock.original.redis.ask(Cmd::del(key)).await?;
        Ok(deleted == 1)
    }
}
