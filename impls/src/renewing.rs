//! Adds background renewal to any lock that can be renewed.

use std::time::Duration;

use crate::contract::{Grant, Lock, LockError, Notice, Taken};
use crate::lease::Lease;
use crate::options::Options;
use crate::renewal::{RenewalRules, Renewals};
use crate::stopwatch::Deadline;

/// A lock whose lease a background task can renew.
pub(crate) trait Renewable: Lock {
    /// Returns the user's options.
    fn options(&self) -> &Options;

    /// Returns a function that sends one renewal to Redis, over its own connections. It returns the new end of the
    /// validity, or `None` if the lease is gone.
    fn renewal(
        &self,
        key: &str,
        grant: &Grant,
        lease: Lease,
    ) -> impl AsyncFnMut() -> Result<Option<Deadline>, LockError> + 'static;
}

/// A lock that is renewed from grant to release.
pub(crate) struct Renewing<L> {
    lock: L,
    renewals: Renewals,
}

impl<L: Renewable> Renewing<L> {
    pub(crate) fn new(lock: L, rules: RenewalRules) -> Self {
        Renewing {
            lock,
            renewals: Renewals::new(rules),
        }
    }

    fn watch(&mut self, key: &str, grant: Option<&Grant>, lease: Lease) {
        let Some(grant) = grant else { return };
        let renewal = self.lock.renewal(key, grant, lease);
        let options = self.lock.options();
        self.renewals
            .begin(options, grant, lease.duration(), renewal);
    }
}

impl<L: Renewable> Lock for Renewing<L> {
    async fn acquire(&mut self, key: &str, ttl: Duration, wait: Duration) -> Taken {
        let lease = Lease::new(ttl)?;
        let grant = Lock::acquire(&mut self.lock, key, ttl, wait).await?;
        self.watch(key, grant.as_ref(), lease);
        Ok(grant)
    }

    async fn extend(&mut self, key: &str, grant: &Grant, ttl: Duration) -> Taken {
        let lease = Lease::new(ttl)?;
        let extended = Lock::extend(&mut self.lock, key, grant, ttl).await?;
        self.watch(key, extended.as_ref(), lease);
        Ok(extended)
    }

    async fn release(&mut self, key: &str, grant: &Grant) -> Result<bool, LockError> {
        self.renewals.end(grant);
        Lock::release(&mut self.lock, key, grant).await
    }

    async fn terminate(&mut self, held: &[(String, Grant)]) {
        for (key, grant) in held {
            // The client is ending, so a failure cannot be reported.
            self.release(key, grant).await.ok();
        }
    }

    async fn notice(&mut self) -> Notice {
        self.renewals.notice().await
    }
}
