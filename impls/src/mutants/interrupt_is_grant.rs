//! `interrupt-is-grant`: `set-nx-px` that treats the end of its wait as a grant when its client gives up.
//!
//! The interrupt is swallowed, and the section runs (S18: redisson#2714). Caught by `lease` when a client gives up
//! while another one has the lock.

use std::time::Duration;

use crate::BuiltInLock;
use crate::attempts::{self, Attempts};
use crate::contract::Taken;
use crate::lease::Lease;
use crate::stopwatch::Stopwatch;
use crate::variation::{Variation, Varied, varied};

pub(crate) const LOCK: BuiltInLock = varied::<InterruptIsGrant>(
    "interrupt-is-grant",
    "mutant: set-nx-px that takes an interrupted wait for a grant",
);

#[derive(Default)]
struct InterruptIsGrant;

impl Variation for InterruptIsGrant {
    async fn acquire(lock: &mut Varied<Self>, key: &str, ttl: Duration, wait: Duration) -> Taken {
        let taken = attempts::acquire(lock, key, ttl, wait).await?;
        let is_cancelled = lock.context().canceller.is_cancelled();
        let name = lock.name();
        let believed = || Lease::new(ttl).map(|lease| lease.grant(&name, Stopwatch::start()));
        match taken {
            None if is_cancelled => believed().map(Some),
            taken => Ok(taken),
        }
    }
}
