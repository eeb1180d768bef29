//! `set-nx-px` that does some things in a way of its own, and the others as before.

use std::marker::PhantomData;
use std::time::Duration;

use crate::attempts::{self, Attempts};
use crate::contract::{Grant, Lock, LockError, Taken};
use crate::delegating_lock::DelegatingLock;
use crate::lease::Lease;
use crate::locks::set_nx_px::{Extension, SetNxPx};
use crate::single_node::SingleNode;
use crate::{BuiltInLock, Context, Node};

/// What is different. `original` has the connection.
pub(crate) trait Variation: Sized + 'static {
    /// All attempts of one acquisition.
    async fn acquire(lock: &mut Varied<Self>, key: &str, ttl: Duration, wait: Duration) -> Taken {
        attempts::acquire(lock, key, ttl, wait).await
    }

    /// One attempt, as [`Attempts::attempt`].
    async fn attempt(original: &mut SetNxPx, key: &str, name: &str, lease: Lease) -> Taken {
        original.attempt(key, name, lease).await
    }

    /// As [`Lock::extend`].
    async fn extend(original: &mut SetNxPx, key: &str, grant: &Grant, ttl: Duration) -> Taken {
        Lock::extend(original, key, grant, ttl).await
    }

    /// As [`Lock::release`].
    async fn release(original: &mut SetNxPx, key: &str, grant: &Grant) -> Result<bool, LockError> {
        Lock::release(original, key, grant).await
    }

    /// As [`Lock::section_failed`].
    async fn section_failed(
        original: &mut SetNxPx,
        key: &str,
        grant: &Grant,
    ) -> Result<bool, LockError> {
        Self::release(original, key, grant).await
    }
}

/// The lock with this variation.
pub(crate) struct Varied<V> {
    original: SetNxPx,
    way: PhantomData<V>,
}

impl<V> Varied<V> {
    pub(crate) fn new(nodes: Vec<Node>, context: Context) -> Self {
        Varied {
            original: SetNxPx::new(nodes, context),
            way: PhantomData,
        }
    }

    /// The server.
    pub(crate) fn redis(&mut self) -> &mut SingleNode {
        &mut self.original.redis
    }

    /// As [`SetNxPx::extension`].
    pub(crate) fn extension(&self, key: &str, token: &str, lease: Lease) -> Extension {
        self.original.extension(key, token, lease)
    }
}

/// The row of such a lock.
pub(crate) const fn varied<V: Variation>(name: &'static str, summary: &'static str) -> BuiltInLock {
    BuiltInLock::on_one_node(name, summary, |nodes, context| {
        Box::new(Varied::<V>::new(nodes, context))
    })
}

impl<V: Variation> Attempts for Varied<V> {
    fn context(&mut self) -> &mut Context {
        &mut self.original.context
    }

    async fn attempt(&mut self, key: &str, name: &str, lease: Lease) -> Taken {
        V::attempt(&mut self.original, key, name, lease).await
    }
}

impl<V: Variation> DelegatingLock for Varied<V> {
    type Original = SetNxPx;

    fn original(&mut self) -> &mut SetNxPx {
        &mut self.original
    }

    async fn acquire(&mut self, key: &str, ttl: Duration, wait: Duration) -> Taken {
        V::acquire(self, key, ttl, wait).await
    }

    async fn extend(&mut self, key: &str, grant: &Grant, ttl: Duration) -> Taken {
        V::extend(&mut self.original, key, grant, ttl).await
    }

    async fn release(&mut self, key: &str, grant: &Grant) -> Result<bool, LockError> {
        V::release(&mut self.original, key, grant).await
    }

    async fn section_failed(&mut self, key: &str, grant: &Grant) -> Result<bool, LockError> {
        V::section_failed(&mut self.original, key, grant).await
    }
}
