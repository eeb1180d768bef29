//! A lock that overrides some operations of `set-nx-px`.

use std::time::Duration;

use crate::attempts::{self, Attempts};
use crate::contract::{Grant, Lock, LockError, Taken};
use crate::lease::Lease;
use crate::locks::set_nx_px::SetNxPx;
use crate::{BuiltInLock, Context, Node};

/// The overridden operations, and the state that they need.
pub(crate) trait Variation: Sized + 'static {
    /// See [`Lock::is_reentrant`].
    const IS_REENTRANT: bool = false;

    /// Makes all attempts of one acquisition.
    async fn acquire(lock: &mut Varied<Self>, key: &str, ttl: Duration, wait: Duration) -> Taken {
        attempts::acquire(lock, key, ttl, wait).await
    }

    /// See [`Attempts::name`].
    fn name(lock: &mut Varied<Self>) -> String {
        lock.original.name()
    }

    /// See [`Attempts::attempt`].
    async fn attempt(lock: &mut Varied<Self>, key: &str, name: &str, lease: Lease) -> Taken {
        lock.original.attempt(key, name, lease).await
    }

    /// See [`Lock::extend`].
    async fn extend(lock: &mut Varied<Self>, key: &str, grant: &Grant, ttl: Duration) -> Taken {
        Lock::extend(&mut lock.original, key, grant, ttl).await
    }

    /// See [`Lock::release`].
    async fn release(lock: &mut Varied<Self>, key: &str, grant: &Grant) -> Result<bool, LockError> {
        Lock::release(&mut lock.original, key, grant).await
    }

    /// See [`Lock::section_failed`].
    async fn section_failed(
        lock: &mut Varied<Self>,
        key: &str,
        grant: &Grant,
    ) -> Result<bool, LockError> {
        Self::release(lock, key, grant).await
    }

    /// See [`Lock::start`].
    async fn start(_lock: &mut Varied<Self>) {}

    /// See [`Lock::min_hold`].
    fn min_hold(_lock: &Varied<Self>) -> Duration {
        Duration::ZERO
    }

    /// See [`Lock::terminate`].
    async fn terminate(_lock: &mut Varied<Self>, _held: &[(String, Grant)]) {}
}

/// `set-nx-px` with a variation.
pub(crate) struct Varied<V> {
    /// The original lock, with the connection and the context.
    pub(crate) original: SetNxPx,
    /// The variation, with its state.
    pub(crate) variation: V,
}

impl<V> Varied<V> {
    pub(crate) fn new(nodes: Vec<Node>, context: Context, variation: V) -> Self {
        let original = SetNxPx::new(nodes, context);
        Varied {
            original,
            variation,
        }
    }
}

/// Returns the table row of a variation whose initial state is its default.
pub(crate) const fn varied<V: Variation + Default>(
    name: &'static str,
    summary: &'static str,
) -> BuiltInLock {
    BuiltInLock::on_one_node(name, summary, |nodes, context| {
        Box::new(Varied::new(nodes, context, V::default()))
    })
}

impl<V: Variation> Attempts for Varied<V> {
    fn context(&mut self) -> &mut Context {
        &mut self.original.context
    }

    fn name(&mut self) -> String {
        V::name(self)
    }

    async fn attempt(&mut self, key: &str, name: &str, lease: Lease) -> Taken {
        V::attempt(self, key, name, lease).await
    }
}

impl<V: Variation> Lock for Varied<V> {
    async fn acquire(&mut self, key: &str, ttl: Duration, wait: Duration) -> Taken {
        V::acquire(self, key, ttl, wait).await
    }

    async fn extend(&mut self, key: &str, grant: &Grant, ttl: Duration) -> Taken {
        V::extend(self, key, grant, ttl).await
    }

    async fn release(&mut self, key: &str, grant: &Grant) -> Result<bool, LockError> {
        V::release(self, key, grant).await
    }

    async fn section_failed(&mut self, key: &str, grant: &Grant) -> Result<bool, LockError> {
        V::section_failed(self, key, grant).await
    }

    async fn start(&mut self) {
        V::start(self).await;
    }

    async fn terminate(&mut self, held: &[(String, Grant)]) {
        V::terminate(self, held).await;
    }

    fn min_hold(&self) -> Duration {
        V::min_hold(self)
    }

    fn is_reentrant(&self) -> bool {
        V::IS_REENTRANT
    }
}
