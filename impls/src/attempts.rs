//! Repeats attempts to take a lock until one succeeds or the wait is over.

use std::time::Duration;

use crate::Context;
use crate::contract::Taken;
use crate::lease::Lease;

/// A lock that makes one attempt after another until it is taken.
pub(crate) trait Attempts {
    /// Returns the context that the lock was given.
    fn context(&mut self) -> &mut Context;

    /// Returns the name under which all attempts of one acquisition take the lock. Empty for a lock that creates a new
    /// name for each attempt.
    fn name(&mut self) -> String {
        self.context().token()
    }

    /// Makes one attempt. Returns `None` if another client has the lock.
    async fn attempt(&mut self, key: &str, name: &str, lease: Lease) -> Taken;
}

/// Tries for at most `wait`, with the pauses that the lock's options set.
pub(crate) async fn acquire(
    lock: &mut impl Attempts,
    key: &str,
    ttl: Duration,
    wait: Duration,
) -> Taken {
    let lease = Lease::new(ttl)?;
    let patience = lock.context().patience(wait, ttl);
    let name = lock.name();
    loop {
        if let Some(grant) = lock.attempt(key, &name, lease).await? {
            return Ok(Some(grant));
        }
        if !lock.context().another_attempt(patience).await {
            return Ok(None);
        }
    }
}
