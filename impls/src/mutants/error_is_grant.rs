//! `error-is-grant`: `set-nx-px` that counts an error as a grant.
//!
//! Its author caught the exception around the `SET` and went on (S15, a fail-open wrapper: csredis#419).
//! Caught by `lease`, cause `unbacked-grant`, when Redis refuses the `SET` because it has no memory.

use std::time::Duration;

use crate::attempts::{self, Attempts};
use crate::contract::{Grant, LockError};
use crate::delegating_lock::DelegatingLock;
use crate::lease::Lease;
use crate::patience::RETRY;
use crate::stopwatch::Stopwatch;
use crate::strategies::set_nx_px::SetNxPx;
use crate::{Context, Strategy};

pub(crate) const STRATEGY: Strategy = Strategy {
    name: "error-is-grant",
    summary: "mutant: set-nx-px that goes on after an error as if it had the lock",
    nodes: 1,
    replicas: 0,
    options: RETRY,
    build: |nodes, context| Box::new(ErrorIsGrant(SetNxPx::new(nodes, context))),
};

struct ErrorIsGrant(SetNxPx);

impl Attempts for ErrorIsGrant {
    fn context(&mut self) -> &mut Context {
        &mut self.0.context
    }

    async fn attempt(
        &mut self,
        key: &str,
        name: &str,
        lease: Lease,
    ) -> Result<Option<Grant>, LockError> {
        let asked = Stopwatch::start();
        let tried = self.0.attempt(key, name, lease).await;
        Ok(tried.unwrap_or_else(|_| Some(lease.grant(name, asked))))
    }
}

impl DelegatingLock for ErrorIsGrant {
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
        attempts::acquire(self, key, ttl, wait).await
    }
}
