//! `set-nx-px` that takes the key in a way of its own, and extends and releases it as before.

use std::marker::PhantomData;
use std::time::Duration;

use crate::attempts::{self, Attempts};
use crate::contract::{Grant, LockError};
use crate::delegating_lock::DelegatingLock;
use crate::lease::Lease;
use crate::locks::set_nx_px::SetNxPx;
use crate::{Context, Node};

/// A way to take the key.
pub(crate) trait Attempt {
    /// One attempt, as [`Attempts::attempt`]. `original` has the connection.
    async fn attempt(
        original: &mut SetNxPx,
        key: &str,
        name: &str,
        lease: Lease,
    ) -> Result<Option<Grant>, LockError>;
}

/// The lock that takes the key in this way.
pub(crate) struct OwnAttempt<A> {
    original: SetNxPx,
    way: PhantomData<A>,
}

impl<A> OwnAttempt<A> {
    pub(crate) fn new(nodes: Vec<Node>, context: Context) -> Self {
        OwnAttempt {
            original: SetNxPx::new(nodes, context),
            way: PhantomData,
        }
    }
}

impl<A: Attempt> Attempts for OwnAttempt<A> {
    fn context(&mut self) -> &mut Context {
        &mut self.original.context
    }

    async fn attempt(
        &mut self,
        key: &str,
        name: &str,
        lease: Lease,
    ) -> Result<Option<Grant>, LockError> {
        A::attempt(&mut self.original, key, name, lease).await
    }
}

impl<A: Attempt> DelegatingLock for OwnAttempt<A> {
    type Original = SetNxPx;

    fn original(&mut self) -> &mut SetNxPx {
        &mut self.original
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
