//! `refused-but-won`: `set-nx-px` that reports a refusal when the reply that grants it the lock arrives after its wait.
//!
//! The key stays, but no client can release it (L15: redisson#4197). Caught by `claims` when the reply to the command
//! that takes the lock is late.

use std::time::Duration;

use crate::BuiltInLock;
use crate::attempts;
use crate::contract::Taken;
use crate::stopwatch::Deadline;
use crate::variation::{Variation, Varied, varied};

pub(crate) const LOCK: BuiltInLock = varied::<RefusedButWon>(
    "refused-but-won",
    "mutant: set-nx-px that refuses a lock that it has taken too late, and leaves it",
);

#[derive(Default)]
struct RefusedButWon;

impl Variation for RefusedButWon {
    async fn acquire(lock: &mut Varied<Self>, key: &str, ttl: Duration, wait: Duration) -> Taken {
        let until = Deadline::after(wait);
        let taken = attempts::acquire(lock, key, ttl, wait).await?;
        Ok(taken.filter(|_| !until.left().is_zero()))
    }
}
