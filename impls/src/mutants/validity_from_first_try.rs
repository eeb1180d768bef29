//! `validity-from-first-try`: `set-nx-px` whose lease counts from its first attempt.
//!
//! A client that has waited for longer than a lease takes the key, finds that its lease is over, fails, and leaves the
//! key behind (S6, L15: symfony#31426, node-redlock#166). Caught by `claims` when a client waits for a holder that
//! outlives its lease: the client reports a definite failure, but its value stays in the key.

use std::time::Duration;

use crate::BuiltInLock;
use crate::attempts;
use crate::contract::{Grant, LockError, Taken};
use crate::stopwatch::Stopwatch;
use crate::variation::{Variation, Varied, varied};

pub(crate) const LOCK: BuiltInLock = varied::<ValidityFromFirstTry>(
    "validity-from-first-try",
    "mutant: set-nx-px that counts its lease from its first attempt, and fails if that is over",
);

#[derive(Default)]
struct ValidityFromFirstTry;

impl Variation for ValidityFromFirstTry {
    async fn acquire(lock: &mut Varied<Self>, key: &str, ttl: Duration, wait: Duration) -> Taken {
        let first = Stopwatch::start();
        let taken = attempts::acquire(lock, key, ttl, wait).await?;
        let valid_until = first.until(ttl);
        match taken {
            Some(_) if valid_until.left().is_zero() => {
                Err(LockError::Refused("the lock has expired".into()))
            }
            taken => Ok(taken.map(|grant| Grant {
                valid_until: Some(valid_until),
                ..grant
            })),
        }
    }
}
