//! A semaphore that overrides some operations of `semaphore-counter`, for the mutants.

use std::time::Duration;

use redis::Cmd;

use crate::Context;
use crate::attempts::Attempts;
use crate::contract::{Grant, Lock, LockError, Taken};
use crate::lease::Lease;
use crate::permits::{self, TakesPermits};
use crate::semaphores::counter::SemaphoreCounter;
use crate::{Kind, Node};

/// The mistake of a mutant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mistake {
    /// An acquisition counts one permit, however many were requested.
    CountsOne,
    /// A release gives back one permit, however many were taken.
    ReturnsOne,
    /// An acquisition takes its permits one by one, and keeps them if it does not get all.
    KeepsPart,
}

/// `semaphore-counter` with a mistake.
pub(crate) struct VariedCounter {
    original: SemaphoreCounter,
    mistake: Mistake,
}

impl VariedCounter {
    pub(crate) fn new(nodes: Vec<Node>, context: Context, mistake: Mistake) -> Self {
        let original = SemaphoreCounter::new(nodes, context);
        VariedCounter { original, mistake }
    }

    /// Makes an attempt that counts this many permits.
    async fn take(&mut self, permits: u32, key: &str, name: &str, lease: Lease) -> Taken {
        let requested = std::mem::replace(&mut self.original.permits, permits);
        let taken = self.original.attempt(key, name, lease).await;
        self.original.permits = requested;
        taken
    }
}

impl Attempts for VariedCounter {
    fn context(&mut self) -> &mut Context {
        &mut self.original.context
    }

    fn name(&mut self) -> String {
        self.original.name()
    }

    async fn attempt(&mut self, key: &str, name: &str, lease: Lease) -> Taken {
        let permits = self.original.permits;
        if self.mistake == Mistake::CountsOne {
            return self.take(1, key, name, lease).await;
        }
        if self.mistake != Mistake::KeepsPart {
            return self.original.attempt(key, name, lease).await;
        }
        let mut taken = None;
        for _ in 0..permits {
            taken = self.take(1, key, name, lease).await?;
            if taken.is_none() {
                break;
            }
        }
        Ok(taken)
    }
}

impl TakesPermits for VariedCounter {
    fn set_permits(&mut self, permits: u32) {
        self.original.permits = permits;
    }
}

impl Lock for VariedCounter {
    async fn acquire(&mut self, key: &str, ttl: Duration, wait: Duration) -> Taken {
        permits::acquire(self, key, 1, (ttl, wait)).await
    }

    fn takes_several_permits(&self) -> bool {
        true
    }

    async fn acquire_permits(
        &mut self,
        key: &str,
        permits: u32,
        ttl: Duration,
        wait: Duration,
    ) -> Taken {
        permits::acquire(self, key, permits, (ttl, wait)).await
    }

    async fn release(&mut self, key: &str, grant: &Grant) -> Result<bool, LockError> {
        if self.mistake != Mistake::ReturnsOne {
            return self.original.release(key, grant).await;
        }
        let redis = &mut self.original.redis;
        redis.ask::<i64>(Cmd::decr(key, 1)).await?;
        Ok(true)
    }

    fn kind(&self) -> Kind {
        Kind::Semaphore
    }
}
