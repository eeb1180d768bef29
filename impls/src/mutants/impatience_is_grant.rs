//! `impatience-is-grant`: `set-nx-px` that runs without the lock once it has waited long enough.
//!
//! A client whose wait is over runs its critical section anyway (S18: appstrate#1417). Caught by `lease`, cause
//! `unbacked-grant`, when a client's wait is shorter than another client's hold.

use std::time::Duration;

use crate::BuiltInLock;
use crate::attempts::{self, Attempts};
use crate::contract::Taken;
use crate::lease::Lease;
use crate::stopwatch::Stopwatch;
use crate::variation::{Variation, Varied, varied};

pub(crate) const LOCK: BuiltInLock = varied::<ImpatienceIsGrant>(
    "impatience-is-grant",
    "mutant: set-nx-px that continues without the lock when its wait is over",
);

#[derive(Default)]
struct ImpatienceIsGrant;

impl Variation for ImpatienceIsGrant {
    async fn acquire(lock: &mut Varied<Self>, key: &str, ttl: Duration, wait: Duration) -> Taken {
        let taken = attempts::acquire(lock, key, ttl, wait).await?;
        let lease = Lease::new(ttl)?;
        Ok(taken.or_else(|| Some(lease.grant(lock.name(), Stopwatch::start()))))
    }
}
