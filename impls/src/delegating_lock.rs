//! A lock that differs from another one in a few operations.

use std::time::Duration;

use crate::contract::{Grant, Lock, LockError, Notice, Taken};

/// A lock that behaves like its original except for the operations that it overrides.
pub(crate) trait DelegatingLock {
    /// The original.
    type Original: Lock;

    fn original(&mut self) -> &mut Self::Original;

    async fn acquire(&mut self, key: &str, ttl: Duration, wait: Duration) -> Taken {
        Lock::acquire(self.original(), key, ttl, wait).await
    }

    async fn extend(&mut self, key: &str, grant: &Grant, ttl: Duration) -> Taken {
        Lock::extend(self.original(), key, grant, ttl).await
    }

    async fn release(&mut self, key: &str, grant: &Grant) -> Result<bool, LockError> {
        Lock::release(self.original(), key, grant).await
    }

    async fn section_failed(&mut self, key: &str, grant: &Grant) -> Result<bool, LockError> {
        DelegatingLock::release(self, key, grant).await
    }

    async fn notice(&mut self) -> Notice {
        Lock::notice(self.original()).await
    }

    fn is_reentrant(&self) -> bool {
        false
    }
}

impl<V: DelegatingLock> Lock for V {
    async fn acquire(&mut self, key: &str, ttl: Duration, wait: Duration) -> Taken {
        DelegatingLock::acquire(self, key, ttl, wait).await
    }

    async fn extend(&mut self, key: &str, grant: &Grant, ttl: Duration) -> Taken {
        DelegatingLock::extend(self, key, grant, ttl).await
    }

    async fn release(&mut self, key: &str, grant: &Grant) -> Result<bool, LockError> {
        DelegatingLock::release(self, key, grant).await
    }

    async fn section_failed(&mut self, key: &str, grant: &Grant) -> Result<bool, LockError> {
        DelegatingLock::section_failed(self, key, grant).await
    }

    async fn notice(&mut self) -> Notice {
        DelegatingLock::notice(self).await
    }

    fn is_reentrant(&self) -> bool {
        DelegatingLock::is_reentrant(self)
    }
}
