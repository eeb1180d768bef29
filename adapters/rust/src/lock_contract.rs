//! The trait that a lock implements for Picklock's adapter protocol, and the grants that it returns.
// A lock rarely needs the whole file.
#![allow(dead_code)]

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// A failed request.
#[derive(Debug)]
pub enum Failure {
    /// The request certainly had no effect: no key was changed.
    Definite(String),
    /// The request may have had an effect. Use this when in doubt.
    Unclear(String),
}

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Failure::Unclear(error.to_string())
    }
}

/// A granted lock.
#[derive(Debug, Clone, Default)]
pub struct Grant {
    /// Passed back to `release` and `extend`.
    pub token: String,
    /// Fencing token, if the lock supports fencing: it increases with every grant.
    pub fence: Option<u64>,
    /// When the command that took the lock was sent. [`try_for`] sets it if the lock does not. Without it the answer
    /// has no `valid_ms`, and Picklock bounds the lease by its own clock.
    pub asked_at: Option<Instant>,
}

impl Grant {
    pub fn new(token: impl Into<String>) -> Self {
        Grant {
            token: token.into(),
            ..Grant::default()
        }
    }
}

/// The kind of a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// One client at a time.
    Mutex,
    /// As many clients as there are permits: implement `set_capacity`.
    Semaphore,
    /// Many readers, or one writer: implement `acquire_shared`.
    Rwlock,
    /// One client leads, and acts again and again: implement `act`.
    Leader,
}

impl Kind {
    /// Returns the name in the protocol.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Mutex => "mutex",
            Kind::Semaphore => "semaphore",
            Kind::Rwlock => "rwlock",
            Kind::Leader => "leader",
        }
    }
}

/// The leader may act now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Acting {
    /// A number that increases with every leader. If it is `None`, the fence of the grant counts.
    pub epoch: Option<u64>,
}

/// The lock that you implement. Return `Ok(None)` instead of a grant if another client has the lock.
pub trait Lock {
    fn acquire(
        &mut self,
        key: &str,
        ttl: Duration,
        wait: Duration,
    ) -> Result<Option<Grant>, Failure>;

    /// Returns `None` if the library does not report whether the lock was still held.
    fn release(&mut self, key: &str, token: &str) -> Result<Option<bool>, Failure>;

    /// Set to true if the lock can be extended, and implement `extend`.
    const EXTENDS: bool = false;

    fn extend(
        &mut self,
        _key: &str,
        _token: &str,
        _ttl: Duration,
    ) -> Result<Option<Grant>, Failure> {
        Ok(None)
    }

    /// Set to true if `acquire` waits in [`try_for`] or checks [`is_given_up`]. When its client gives up, it must
    /// return `Ok(None)` and must not have taken the lock.
    const CANCELS: bool = false;

    /// Set to true if the lock handles a failed section, and implement `section_failed`.
    const FAILS_SECTIONS: bool = false;

    /// Acts like an application whose section fails, and returns the same as `release`.
    fn section_failed(&mut self, key: &str, token: &str) -> Result<Option<bool>, Failure> {
        self.release(key, token)
    }

    /// The kind of the lock, which decides what else it implements.
    const KIND: Kind = Kind::Mutex;

    /// Called before the first acquisition of a semaphore, with the number of permits that may be granted at the same
    /// time. `acquire` takes one permit, and `release` gives it back.
    fn set_capacity(&mut self, _permits: u32) {}

    /// Set to true if one acquisition of the semaphore can take several permits, and implement `acquire_permits`.
    const SEVERAL_PERMITS: bool = false;

    /// Takes all of these permits or none. The grant covers all of them.
    fn acquire_permits(
        &mut self,
        _key: &str,
        _permits: u32,
        _ttl: Duration,
        _wait: Duration,
    ) -> Result<Option<Grant>, Failure> {
        Err(not_offered("an acquisition of several permits"))
    }

    /// Lets a reader in. `acquire` lets a writer in.
    fn acquire_shared(
        &mut self,
        _key: &str,
        _ttl: Duration,
        _wait: Duration,
    ) -> Result<Option<Grant>, Failure> {
        Err(not_offered("the mode `shared`"))
    }

    /// Called before each act of the leader. Returns `None` if the client does not lead any more.
    fn act(&mut self, _key: &str, _token: &str) -> Result<Option<Acting>, Failure> {
        Err(not_offered("act"))
    }

    /// The time for which the lock keeps its key after a release, on purpose.
    const MIN_HOLD: Duration = Duration::ZERO;

    /// The time by which the lock's key can live longer than the lease.
    const LEASE_MARGIN: Duration = Duration::ZERO;

    /// Returns the clean-up that a program with this lock does after SIGTERM. It runs in a separate thread while
    /// `acquire` may still wait, and the process then ends. Without it SIGTERM ends the process at once.
    fn clean_up(&self) -> Option<CleanUp> {
        None
    }
}

/// See [`Lock::clean_up`].
pub type CleanUp = Box<dyn FnOnce() + Send>;

/// Parameters of the lock. The nodes are URLs such as redis://HOST:PORT.
pub struct Init {
    pub nodes: Vec<String>,
    pub timeout: Duration,
    pub options: BTreeMap<String, String>,
}

fn not_offered(what: &str) -> Failure {
    Failure::Definite(format!("{what} is not offered"))
}
