//! Picklock adapter for rslock's `LockManager`: Redlock on all nodes that are given.
//!
//! The library retries a fixed number of times, or for ever. Here it makes one attempt at a time, and
//! the adapter calls it until the wait is over. `Unavailable` is its word both for a lock that somebody
//! has and for nodes that do not answer: it is passed on as `refused`. Its releases do not say whether
//! the lock was still held. The command timeout is that of the crate redis: rslock takes none.

mod picklock_adapter;
mod small_json;

use std::collections::HashMap;
use std::time::{Duration, Instant};

use picklock_adapter::{serve, try_for, Failure, Grant, Init, Lock};
use rslock::{LockError, LockManager};
use tokio::runtime::{Builder, Runtime};

struct RsLock {
    runtime: Runtime,
    manager: LockManager,
    locks: HashMap<String, rslock::Lock>,
}

impl RsLock {
    fn new(init: Init) -> Result<Self, Failure> {
        let mut manager = LockManager::new(init.nodes);
        manager.set_retry(1, Duration::from_millis(1));
        Ok(RsLock {
            runtime: Builder::new_current_thread().enable_all().build()?,
            manager,
            locks: HashMap::new(),
        })
    }

    fn lock(&self, token: &str) -> Result<&rslock::Lock, Failure> {
        let unknown = || Failure::Definite(format!("no grant has the token {token}"));
        self.locks.get(token).ok_or_else(unknown)
    }

    /// The library says for how long the lock is valid; from that follows when it asked.
    fn grant(
        &mut self,
        outcome: Result<rslock::Lock, LockError>,
        ttl: Duration,
    ) -> Result<Option<Grant>, Failure> {
        let lock = match outcome {
            Err(LockError::Unavailable) => return Ok(None),
            outcome => outcome?,
        };
        let token: String = lock.val.iter().map(|byte| format!("{byte:02x}")).collect();
        let used = ttl.saturating_sub(Duration::from_millis(lock.validity_time as u64));
        self.locks.insert(token.clone(), lock);
        Ok(Some(Grant {
            asked_at: Instant::now().checked_sub(used),
            ..Grant::new(token)
        }))
    }
}

impl Lock for RsLock {
    fn acquire(
        &mut self,
        key: &str,
        ttl: Duration,
        wait: Duration,
    ) -> Result<Option<Grant>, Failure> {
        try_for(wait, || {
            let outcome = self.runtime.block_on(self.manager.lock(key, ttl));
            self.grant(outcome, ttl)
        })
    }

    const EXTENDS: bool = true;

    fn extend(&mut self, _key: &str, token: &str, ttl: Duration) -> Result<Option<Grant>, Failure> {
        let outcome = self
            .runtime
            .block_on(self.manager.extend(self.lock(token)?, ttl));
        self.grant(outcome, ttl)
    }

    fn release(&mut self, _key: &str, token: &str) -> Result<Option<bool>, Failure> {
        self.runtime
            .block_on(self.manager.unlock(self.lock(token)?));
        Ok(None)
    }
}

fn main() {
    serve(RsLock::new, "rslock", "0.10.0", &[]);
}
