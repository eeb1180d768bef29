//! The lock contract: the operations of a lock, and their errors.
//!
//! A lock implements [`Lock`]. The harness uses only its object-safe twin [`DynLock`], which is implemented for every
//! `Lock`.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use crate::stopwatch::Deadline;

/// The kinds of locks, by the clients that may hold them at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// One client.
    Mutex,
    /// As many clients as [`crate::Context::capacity`] states.
    Semaphore,
    /// Any number of readers, or one writer.
    ReadWrite,
    /// One client, which asks by [`Lock::may_act`] before each of its acts.
    Leader,
}

/// The guarantees that a client may rely on once it has been granted the lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// Name under which the lock is held. A client needs it to extend and release.
    pub token: String,
    /// Fencing token, strictly increasing from grant to grant, for locks that have one
    /// (Kleppmann 2016, "How to do distributed locking").
    pub fence: Option<u64>,
    /// When the client must stop relying on the lock, on its own monotonic clock, or `None` if the lock does not report
    /// it. This is a point in time because a client that is interrupted before it reads a duration would count it from
    /// too late a start.
    pub valid_until: Option<Deadline>,
}

/// Result of an attempt to take a lock: a grant, `None` if another client has the lock, or an error.
pub type Taken = Result<Option<Grant>, LockError>;

/// An event that a lock reports without a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// A background task renewed the lease.
    Extended {
        /// Token of the grant.
        token: String,
        /// New end of the validity.
        valid_until: Deadline,
    },
    /// The lease is gone, or could not be renewed in time: the holder must stop.
    Lost {
        /// Token of the grant.
        token: String,
    },
}

/// Reasons why a lock operation failed.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Redis refused, and the refused command changed nothing.
    #[error("Redis rejected the command: {0}")]
    Refused(String),
    /// No reply, or an incomplete one: the command may or may not have been executed.
    #[error("no certain answer from Redis: {0}")]
    Ambiguous(String),
    /// The call itself was invalid (a TTL of zero, an unknown token); nothing was sent.
    #[error("invalid call: {0}")]
    BadCall(String),
    /// The lock does not support the operation; nothing was sent. Only `extend` may return this. A run in which holders
    /// should extend then reports that it did not test extensions.
    #[error("not supported: {0}")]
    Unsupported(String),
}

impl LockError {
    /// Returns `true` if the operation certainly had no effect, and `false` if that is unknown.
    pub fn is_definite(&self) -> bool {
        !matches!(self, LockError::Ambiguous(_))
    }
}

impl From<redis::RedisError> for LockError {
    fn from(error: redis::RedisError) -> Self {
        // An error reply comes from Redis itself. After anything else (timeout, reset, protocol error) it is unknown
        // whether the command was executed.
        match error.kind() {
            redis::ErrorKind::Server(_) => LockError::Refused(error.to_string()),
            // Error codes without a kind in redis-rs (OOM, MISCONF, NOAUTH …).
            redis::ErrorKind::Extension if error.code().is_some() => {
                LockError::Refused(error.to_string())
            }
            _ => LockError::Ambiguous(error.to_string()),
        }
    }
}

/// A distributed lock as seen by one client.
///
/// One value serves one client, and its methods are never called concurrently. Background work must use
/// [`tokio::task::spawn_local`], so that freezing the client stops all of it.
pub trait Lock {
    /// Tries to take `key` for `ttl`, repeatedly for at most `wait` (zero: one attempt).
    ///
    /// Returns `Ok(None)` if another client has the lock.
    fn acquire(&mut self, key: &str, ttl: Duration, wait: Duration) -> impl Future<Output = Taken>;

    /// Extends the lease to `ttl` from now. Returns `Ok(None)` if the client no longer had the lock. A lock without
    /// extensions keeps the default, which returns [`LockError::Unsupported`].
    fn extend(
        &mut self,
        _key: &str,
        _grant: &Grant,
        _ttl: Duration,
    ) -> impl Future<Output = Taken> {
        let unsupported = LockError::Unsupported("the lock cannot be extended".to_owned());
        std::future::ready(Err(unsupported))
    }

    /// Releases the lock. Returns `Ok(true)` if the client had the lock until now and it is free.
    fn release(
        &mut self,
        key: &str,
        grant: &Grant,
    ) -> impl Future<Output = Result<bool, LockError>>;

    /// Handles a failed critical section, like a guard through which an exception or a panic propagates. Returns the
    /// same result as [`Lock::release`], which is also the default.
    fn section_failed(
        &mut self,
        key: &str,
        grant: &Grant,
    ) -> impl Future<Output = Result<bool, LockError>> {
        self.release(key, grant)
    }

    /// Performs the library's actions at the start of the client's process, before its first acquisition. The default
    /// does nothing.
    fn start(&mut self) -> impl Future<Output = ()> {
        std::future::ready(())
    }

    /// Cleans up because the client's process is about to end (SIGTERM), as a shutdown hook of a library does. `held`
    /// are the names and grants that were not released. The default does nothing: the leases run out.
    fn terminate(&mut self, _held: &[(String, Grant)]) -> impl Future<Output = ()> {
        std::future::ready(())
    }

    /// Returns `true` if a holder can take the lock again. It then has the lock until its outermost release; inner
    /// holds neither end nor shorten the lease.
    fn is_reentrant(&self) -> bool {
        false
    }

    /// Returns the maximum time for which the key of the lock may stay after a release.
    fn min_hold(&self) -> Duration {
        Duration::ZERO
    }

    /// Returns how many clients may hold the lock at the same time.
    fn kind(&self) -> Kind {
        Kind::Mutex
    }

    /// Like [`Lock::acquire`], but as a reader, which other readers do not exclude. Only read/write locks implement
    /// this method; their `acquire` is for writers.
    fn acquire_shared(
        &mut self,
        _key: &str,
        _ttl: Duration,
        _wait: Duration,
    ) -> impl Future<Output = Taken> {
        let problem = LockError::BadCall("the lock has no readers".to_owned());
        std::future::ready(Err(problem))
    }

    /// Returns the grant, with its epoch as the fencing token, if the client still leads and may act now. Returns
    /// `Ok(None)` if it does not lead. Only leader elections override the default, which lets the holder act.
    fn may_act(&mut self, _key: &str, grant: &Grant) -> impl Future<Output = Taken> {
        std::future::ready(Ok(Some(grant.clone())))
    }

    /// Returns `true` if one acquisition of the semaphore can take several permits.
    fn takes_several_permits(&self) -> bool {
        false
    }

    /// Like [`Lock::acquire`], but takes this many permits of a semaphore, all or none of them. There is one grant for
    /// all permits, so one release gives all permits back.
    fn acquire_permits(
        &mut self,
        key: &str,
        permits: u32,
        ttl: Duration,
        wait: Duration,
    ) -> impl Future<Output = Taken> {
        async move {
            match permits {
                1 => self.acquire(key, ttl, wait).await,
                _ => Err(LockError::BadCall(
                    "the lock grants one permit at a time".to_owned(),
                )),
            }
        }
    }

    /// Returns the next unprompted notice of the lock. Must be cancel-safe. The default sends none.
    fn notice(&mut self) -> impl Future<Output = Notice> {
        std::future::pending()
    }
}

/// A boxed future of a lock call. It is not `Send`, because a client lives on one thread.
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
    /// See [`Lock::start`].
    fn start(&mut self) -> LockFuture<'_, ()>;
    /// See [`Lock::terminate`].
    fn terminate<'a>(&'a mut self, held: &'a [(String, Grant)]) -> LockFuture<'a, ()>;
    /// See [`Lock::is_reentrant`].
    fn is_reentrant(&self) -> bool;
    /// See [`Lock::min_hold`].
    fn min_hold(&self) -> Duration;
    /// See [`Lock::kind`].
    fn kind(&self) -> Kind;
    /// See [`Lock::acquire_shared`].
    fn acquire_shared<'a>(
        &'a mut self,
        key: &'a str,
        ttl: Duration,
        wait: Duration,
    ) -> LockFuture<'a, Taken>;
    /// See [`Lock::may_act`].
    fn may_act<'a>(&'a mut self, key: &'a str, grant: &'a Grant) -> LockFuture<'a, Taken>;
    /// See [`Lock::takes_several_permits`].
    fn takes_several_permits(&self) -> bool;
    /// See [`Lock::acquire_permits`].
    fn acquire_permits<'a>(
        &'a mut self,
        key: &'a str,
        permits: u32,
        ttl: Duration,
        wait: Duration,
    ) -> LockFuture<'a, Taken>;
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

    fn start(&mut self) -> LockFuture<'_, ()> {
        Box::pin(Lock::start(self))
    }

    fn terminate<'a>(&'a mut self, held: &'a [(String, Grant)]) -> LockFuture<'a, ()> {
        Box::pin(Lock::terminate(self, held))
    }

    fn is_reentrant(&self) -> bool {
        Lock::is_reentrant(self)
    }

    fn min_hold(&self) -> Duration {
        Lock::min_hold(self)
    }

    fn kind(&self) -> Kind {
        Lock::kind(self)
    }

    fn acquire_shared<'a>(
        &'a mut self,
        key: &'a str,
        ttl: Duration,
        wait: Duration,
    ) -> LockFuture<'a, Taken> {
        Box::pin(Lock::acquire_shared(self, key, ttl, wait))
    }

    fn may_act<'a>(&'a mut self, key: &'a str, grant: &'a Grant) -> LockFuture<'a, Taken> {
        Box::pin(Lock::may_act(self, key, grant))
    }

    fn takes_several_permits(&self) -> bool {
        Lock::takes_several_permits(self)
    }

    fn acquire_permits<'a>(
        &'a mut self,
        key: &'a str,
        permits: u32,
        ttl: Duration,
        wait: Duration,
    ) -> LockFuture<'a, Taken> {
        Box::pin(Lock::acquire_permits(self, key, permits, ttl, wait))
    }

    fn notice(&mut self) -> LockFuture<'_, Notice> {
        Box::pin(Lock::notice(self))
    }
}
