//! `signal-list`: `set-nx-px` whose release wakes a waiter by an element in a list.
//!
//! **Commands.** Acquire: `SET key token NX PX ms`. If the key is taken: `BLPOP key:signal seconds`, and `SET` again as
//! soon as a signal arrives, or when the client has slept for `sleep` (one lease). No `BLPOP` lasts longer than `nap`,
//! so several can follow each other without a `SET` between them. Release: `delete_and_signal.lua`, which compares,
//! empties the list, pushes one signal that expires after a second, and deletes the key. Extend:
//! `compare_and_pexpire.lua`.
//!
//! **From.** python-redis-lock by Ionel Cristian Mărieș (`redis_lock`): its keys are `lock:NAME` and
//! `lock-signal:NAME`, its `signal_expire` is 1000 ms. Its waiter calls `BLPOP` once, for the rest of its wait or for
//! `expire`, and checks the key again after it. That works because redis-py waits for a reply for ever unless its user
//! sets `socket_timeout`. The clients here always have such a limit, so the sleep is divided into naps.
//!
//! **Promises.** The same as `set-nx-px`. A waiter gets the lock at once after a release, without polling. A holder
//! that dies sends no signal, but a waiter checks on its own one lease after its last attempt. By then the dead
//! holder's key has expired (L8: redisson#5761, python-redis-lock#71).
//!
//! **Does not survive.**
//! - Everything that `set-nx-px` does not survive.
//! - One signal wakes one waiter. If that waiter is frozen, dead or disconnected, the signal is lost, and the others
//!   sleep on for up to a lease although the lock is free.

use std::sync::LazyLock;
use std::time::Duration;

use redis::Script;

use crate::attempts::Attempts;
use crate::contract::{Grant, LockError, Taken};
use crate::lease::Lease;
use crate::lease_duration::LeaseDuration;
use crate::options::{OptionKind, OptionSpec, OptionValue};
use crate::stopwatch::Deadline;
use crate::variation::{Variation, Varied};
use crate::{BuiltInLock, Kind};

/// Deletes the key if it holds the token, and wakes a waiter.
static DELETE_AND_SIGNAL: LazyLock<Script> =
    LazyLock::new(|| Script::new(include_str!("delete_and_signal.lua")));

/// Default sleep. A waiter that tries again one lease after a failed attempt finds the same holder only if that holder
/// has extended its lock.
const SLEEP: OptionSpec = OptionSpec {
    name: "sleep",
    meaning: "longest sleep of a waiter that gets no signal",
    kind: OptionKind::Duration { zero: false },
    default: OptionValue::Duration(LeaseDuration::Ttl(1.0)),
};

/// Maximum length of a `BLPOP`. It must be shorter than the client's time limit for replies, or the client mistakes an
/// empty list for a dead server. An idle Redis checks for expired waits only ten times a second, so a `BLPOP` may last
/// a tenth of a second longer.
pub(crate) const NAP: OptionSpec = OptionSpec {
    name: "nap",
    meaning: "longest BLPOP; keep it below the client's command timeout",
    kind: OptionKind::Duration { zero: false },
    default: OptionValue::Duration(LeaseDuration::Ttl(0.05)),
};

/// Milliseconds after which an unread signal expires: python-redis-lock's default.
const SIGNAL_EXPIRY_MS: u64 = 1000;

/// Redis counts the timeout of `BLPOP` in milliseconds, and 0 means for ever. Redis 6.2 rounds 0.001 down to 0.
const MIN_NAP: Duration = Duration::from_millis(2);

pub(crate) const LOCK: BuiltInLock = BuiltInLock {
    name: "signal-list",
    summary: "SET NX PX; waiters sleep in BLPOP until a release in Lua pushes a signal",
    nodes: 1,
    replicas: 0,
    kind: Kind::Mutex,
    options: &[&SLEEP, &NAP],
    build: |nodes, context| Box::new(Varied::new(nodes, context, SignalList::BySignalOrTime)),
};

/// The event that ends the sleep of the lock's waiters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SignalList {
    /// A signal, or the end of `sleep`.
    BySignalOrTime,
    /// Only a signal: a mutant.
    BySignal,
}

fn signal(key: &str) -> String {
    format!("{key}:signal")
}

impl Varied<SignalList> {
    /// Sleeps until a signal arrives, or the time for a check without a signal has come. Returns `false` if the client
    /// should not check.
    async fn sleep(&mut self, key: &str, ttl: Duration, left: Duration) -> Result<bool, LockError> {
        let options = &self.original.context.options;
        let longest_nap = options.duration(&NAP, ttl);
        let sleep = match self.variation {
            SignalList::BySignalOrTime => options.duration(&SLEEP, ttl).min(left),
            SignalList::BySignal => left,
        };
        let until = Deadline::after(sleep);
        loop {
            let left = until.left();
            // A nap is not interrupted, because the signal that it takes would then wake no waiter.
            if self.original.context.canceller.is_cancelled() {
                return Ok(false);
            }
            if left.is_zero() {
                return Ok(self.variation == SignalList::BySignalOrTime);
            }
            let nap = left.min(longest_nap).max(MIN_NAP);
            let wait = redis::Cmd::blpop(signal(key), nap.as_secs_f64());
            let woken: Option<(String, String)> = self.original.redis.ask(wait).await?;
            if woken.is_some() {
                return Ok(true);
            }
        }
    }
}

impl Variation for SignalList {
    async fn acquire(lock: &mut Varied<Self>, key: &str, ttl: Duration, wait: Duration) -> Taken {
        let lease = Lease::new(ttl)?;
        let until = Deadline::after(wait);
        let name = lock.name();
        loop {
            // The last attempt begins when the wait is over, as in python-redis-lock.
            let left = until.left();
            if let Some(grant) = lock.attempt(key, &name, lease).await? {
                return Ok(Some(grant));
            }
            if left.is_zero() || !lock.sleep(key, ttl, until.left()).await? {
                return Ok(None);
            }
        }
    }

    async fn release(lock: &mut Varied<Self>, key: &str, grant: &Grant) -> Result<bool, LockError> {
        let deleted: bool = DELETE_AND_SIGNAL
            .key(key)
            .key(signal(key))
            .arg(&grant.token)
            .arg(SIGNAL_EXPIRY_MS)
            .invoke_async(lock.original.redis.connection()?)
            .await?;
        Ok(deleted)
    }
}
