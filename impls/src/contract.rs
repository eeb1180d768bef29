//! The lock contract: what a lock must be able to do, and how it may fail.
//!
//! A lock implements [`Lock`]. The harness uses only the object-safe twin [`DynLock`], which
//! is implemented for every `Lock`.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use crate::stopwatch::Deadline;

/// What a client may rely on after it was granted the lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// The name under which the lock is held. A client that knows it can extend and release.
    pub token: String,
    /// Fencing token, strictly increasing from grant to grant, for locks that have one
    /// (Kleppmann 2016, "How to do distributed locking").
    pub fence: Option<u64>,
    /// Until when the client may rely on holding the lock, on its own monotonic clock. It is a point in
    /// time and no duration: a client that is interrupted before it reads a duration would count it from
    /// too late. `None`: the lock does not say.
    pub valid_until: Option<Deadline>,
}

/// What comes of an attempt to take a lock: a grant, `None` where somebody else has it, or why it failed.
pub type Taken = Result<Option<Grant>, LockError>;

/// What a lock can report without being asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// A background task renewed the lease.
    Extended {
        /// Token of the grant.
        token: String,
        /// Until when it is valid now.
        valid_until: Deadline,
    },
    /// The lease is gone, or could not be renewed in time: the holder must stop.
    Lost {
        /// Token of the grant.
        token: String,
    },
}

/// Why a lock could not do what it was asked to do.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Redis refused, and the refused command changed nothing.
    #[error("Redis refused: {0}")]
    Refused(String),
    /// No answer, or an incomplete one: the command may or may not have been executed.
    #[error("no certain answer from Redis: {0}")]
    Ambiguous(String),
    /// The call itself was wrong (a TTL of zero, an unknown token); nothing was sent.
    #[error("bad call: {0}")]
    BadCall(String),
    /// The lock has no such operation; nothing was sent. Only an extension may be answered so: a
    /// run in which holders should extend then says that it did not test it.
    #[error("not supported: {0}")]
    Unsupported(String),
}

impl LockError {
    /// True when it is certain that the operation had no effect. When in doubt: false.
    pub fn is_definite(&self) -> bool {
        !matches!(self, LockError::Ambiguous(_))
    }
}

impl From<redis::RedisError> for LockError {
    fn from(error: redis::RedisError) -> Self {
        // An error reply comes from Redis itself. After anything else (timeout, reset, bad
        // protocol) it is unknown whether the command was executed.
        match error.kind() {
            redis::ErrorKind::Server(_) => LockError::Refused(error.to_string()),
            // Codes that redis-rs does not know (OOM, MISCONF, NOAUTH …); they carry a code.
            redis::ErrorKind::Extension if error.code().is_some() => {
                LockError::Refused(error.to_string())
            }
            _ => LockError::Ambiguous(error.to_string()),
        }
    }
}

/// A distributed lock as seen by one client.
///
/// One value serves one client and is never called twice at the same time. Background work must
/// use [`tokio::task::spawn_local`], so that freezing the client stops all of it.
pub trait Lock {
    /// Tries to take `key` for `ttl`, repeatedly for at most `wait` (zero: one attempt).
    ///
    /// `Ok(None)` means that another client has it.
    fn acquire(&mut self, key: &str, ttl: Duration, wait: Duration) -> impl Future<Output = Taken>;

    /// Extends the lease to `ttl` from now. `Ok(None)`: the lock was no longer ours. A lock that
    /// cannot be extended leaves this out: the default answers [`LockError::Unsupported`].
    fn extend(
        &mut self,
        _key: &str,
        _grant: &Grant,
        _ttl: Duration,
    ) -> impl Future<Output = Taken> {
        let unsupported = LockError::Unsupported("it has no `extend`".to_owned());
        std::future::ready(Err(unsupported))
    }

    /// Releases the lock. `Ok(true)` claims: it was ours until now, and is free.
    fn release(
        &mut self,
        key: &str,
        grant: &Grant,
    ) -> impl Future<Output = Result<bool, LockError>>;

    /// The holder's section has failed: what becomes of the lock when an exception, or a panic, passes the guard that
    /// has it. The answer is that of [`Lock::release`], which the default does.
    fn section_failed(
        &mut self,
        key: &str,
        grant: &Grant,
    ) -> impl Future<Output = Result<bool, LockError>> {
        self.release(key, grant)
    }

    /// True if the client that has the lock can take it again. The lock is its until the outermost release; what is
    /// taken in between neither ends nor shortens the lease.
    fn is_reentrant(&self) -> bool {
        false
    }

    /// The next unprompted notice of the lock. Must be cancel-safe. The default sends none.
    fn notice(&mut self) -> impl Future<Output = Notice> {
        std::future::pending()
    }
}

/// A boxed future of a lock call; not `Send`, because a client lives on one thread.
pub type LockFuture<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// [`Lock`] behind a pointer. Implemented for every `Lock`; never implement it by hand.
pub trait DynLock {
    /// See [`Lock::acquire`].
    fn acquire<'a>(
        &'a mut self,
        key: &'a str,
        ttl: Duration,
        wait: Duration,
    ) -> LockFuture<'a, Taken>;
    /// See [`Lock::extend`].
    fn extend<'a>(
        &'a mut self,
        key: &'a str,
        grant: &'a Grant,
        ttl: Duration,
    ) -> LockFuture<'a, Taken>;
    /// See [`Lock::release`].
    fn release<'a>(
        &'a mut self,
        key: &'a str,
        grant: &'a Grant,
    ) -> LockFuture<'a, Result<bool, LockError>>;
    /// See [`Lock::section_failed`].
    fn section_failed<'a>(
        &'a mut self,
        key: &'a str,
        grant: &'a Grant,
    ) -> LockFuture<'a, Result<bool, LockError>>;
    /// See [`Lock::is_reentrant`].
    fn is_reentrant(&self) -> bool;
    /// See [`Lock::notice`].
    fn notice(&mut self) -> LockFuture<'_, Notice>;
}

impl<L: Lock> DynLock for L {
    fn acquire<'a>(
        &'a mut self,
        key: &'a str,
        ttl: Duration,
        wait: Duration,
    ) -> LockFuture<'a, Taken> {
        Box::pin(Lock::acquire(self, key, ttl, wait))
    }

    fn extend<'a>(
        &'a mut self,
        key: &'a str,
        grant: &'a Grant,
        ttl: Duration,
    ) -> LockFuture<'a, Taken> {
        Box::pin(Lock::extend(self, key, grant, ttl))
    }

    fn release<'a>(
        &'a mut self,
        key: &'a str,
        grant: &'a Grant,
    ) -> LockFuture<'a, Result<bool, LockError>> {
        Box::pin(Lock::release(self, key, grant))
    }

    fn section_failed<'a>(
        &'a mut self,
        key: &'a str,
        grant: &'a Grant,
    ) -> LockFuture<'a, Result<bool, LockError>> {
        Box::pin(Lock::section_failed(self, key, grant))
    }

    fn is_reentrant(&self) -> bool {
        Lock::is_reentrant(self)
    }

    fn notice(&mut self) -> LockFuture<'_, Notice> {
        Box::pin(Lock::notice(self))
    }
}
