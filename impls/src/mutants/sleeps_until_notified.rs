//! `sleeps-until-notified`: `set-nx-px` whose waiters sleep until a release wakes them.
//!
//! Its release deletes the key and pushes a signal, and its waiters wait for that signal by `BLPOP`.
//! A holder that dies, or loses its lock, sends none, and the waiters do not look by themselves (L8:
//! redisson#5761, python-redis-lock#71). Caught by `progress` when the holder dies and its waiters have
//! time.

use std::sync::LazyLock;
use std::time::Duration;

use redis::Script;

use crate::Strategy;
use crate::attempts::Attempts;
use crate::contract::{Grant, LockError};
use crate::delegating_lock::DelegatingLock;
use crate::lease::Lease;
use crate::patience::RETRY;
use crate::stopwatch::Deadline;
use crate::strategies::set_nx_px::SetNxPx;

/// Deletes the key if it holds the token, and wakes a waiter.
static DELETE_AND_SIGNAL: LazyLock<Script> =
    LazyLock::new(|| Script::new(include_str!("delete_and_signal.lua")));

/// A `BLPOP` with a timeout of 0 would wait for ever.
const SHORTEST_NAP: Duration = Duration::from_millis(10);

pub(crate) const STRATEGY: Strategy = Strategy {
    name: "sleeps-until-notified",
    summary: "mutant: set-nx-px whose waiters sleep until a release wakes them",
    nodes: 1,
    replicas: 0,
    options: RETRY,
    build: |nodes, context| Box::new(SleepsUntilNotified(SetNxPx::new(nodes, context))),
};

struct SleepsUntilNotified(SetNxPx);

fn signal(key: &str) -> String {
    format!("{key}:released")
}

impl SleepsUntilNotified {
    /// Waits for a signal. False: none came in time. A nap is shorter than a command may take, and
    /// what ends without a signal is followed by another nap.
    async fn notified(
        &mut self,
        key: &str,
        lease: Lease,
        until: Deadline,
    ) -> Result<bool, LockError> {
        let longest = lease.duration() / 4;
        loop {
            let left = until.left();
            if left.is_zero() {
                return Ok(false);
            }
            let nap = left.min(longest).max(SHORTEST_NAP);
            let command = redis::Cmd::blpop(signal(key), nap.as_secs_f64());
            let woken: Option<(String, String)> = self.0.redis.ask(command).await?;
            if woken.is_some() {
                return Ok(true);
            }
        }
    }
}

impl DelegatingLock for SleepsUntilNotified {
    type Original = SetNxPx;

    fn original(&mut self) -> &mut SetNxPx {
        &mut self.0
    }

    async fn acquire(
        &mut self,
        key: &str,
        ttl: Duration,
        wait: Duration,
    ) -> Result<Option<Grant>, LockError> {
        let lease = Lease::new(ttl)?;
        let until = Deadline::after(wait);
        let name = self.0.name();
        loop {
            if let Some(grant) = self.0.attempt(key, &name, lease).await? {
                return Ok(Some(grant));
            }
            if !self.notified(key, lease, until).await? {
                return Ok(None);
            }
        }
    }

    async fn release(&mut self, key: &str, grant: &Grant) -> Result<bool, LockError> {
        let deleted: bool = DELETE_AND_SIGNAL
            .key(key)
            .key(signal(key))
            .arg(&grant.token)
            .invoke_async(self.0.redis.connection()?)
            .await?;
        Ok(deleted)
    }
}
