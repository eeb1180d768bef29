//! `release-without-token`: `set-nx-px` whose release is a plain `DEL`.
//!
//! A holder that is late deletes its successor's lock (S4). To be caught by `ownership`, cause
//! `stolen-release`, when a holder outlives its lease and then releases.

use std::time::Duration;

use crate::Strategy;
use crate::contract::{Grant, Lock, LockError};
use crate::patience::RETRY;
use crate::strategies::set_nx_px::SetNxPx;

pub(crate) const STRATEGY: Strategy = Strategy {
    name: "release-without-token",
    summary: "mutant: set-nx-px whose release deletes whoever's lock it finds",
    nodes: 1,
    replicas: 0,
    options: RETRY,
    build: |nodes, context| Box::new(ReleaseWithoutToken(SetNxPx::new(nodes, context))),
};

struct ReleaseWithoutToken(SetNxPx);

impl Lock for ReleaseWithoutToken {
    async fn acquire(
        &mut self,
        key: &str,
        ttl: Duration,
        wait: Duration,
    ) -> Result<Option<Grant>, LockError> {
        Lock::acquire(&mut self.0, key, ttl, wait).await
    }

    async fn extend(
        &mut self,
        key: &str,
        grant: &Grant,
        ttl: Duration,
    ) -> Result<Option<Grant>, LockError> {
        Lock::extend(&mut self.0, key, grant, ttl).await
    }

    async fn release(&mut self, key: &str, _grant: &Grant) -> Result<bool, LockError> {
        let deleted: u64 = self.0.redis.ask(redis::Cmd::del(key)).await?;
        Ok(deleted == 1)
    }
}
