//! `no-lock`: grants every request, and never talks to Redis.
//!
//! The extreme case of a fail-open wrapper (S15): every exclusion checker must catch it, in every
//! scenario in which two buyers meet.

use std::time::Duration;

use crate::contract::{Grant, Lock, LockError};
use crate::lease::Lease;
use crate::token::random_token;
use crate::{Context, Strategy};

pub(crate) const STRATEGY: Strategy = Strategy {
    name: "no-lock",
    summary: "mutant: grants every request, never asks Redis",
    nodes: 1,
    replicas: 0,
    options: &[],
    build: |_nodes, context| Box::new(NoLock { context }),
};

struct NoLock {
    context: Context,
}

impl Lock for NoLock {
    async fn acquire(
        &mut self,
        _key: &str,
        ttl: Duration,
        _wait: Duration,
    ) -> Result<Option<Grant>, LockError> {
        Ok(Some(Grant {
            token: random_token(&mut self.context.entropy),
            fence: None,
            valid_for: Some(Lease::new(ttl)?.duration()),
        }))
    }

    async fn extend(
        &mut self,
        _key: &str,
        grant: &Grant,
        ttl: Duration,
    ) -> Result<Option<Grant>, LockError> {
        Ok(Some(Grant {
            valid_for: Some(Lease::new(ttl)?.duration()),
            ..grant.clone()
        }))
    }

    async fn release(&mut self, _key: &str, _grant: &Grant) -> Result<bool, LockError> {
        Ok(true)
    }
}
