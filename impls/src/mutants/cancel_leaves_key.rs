//! `cancel-leaves-key`: `set-nx-px` that abandons its command in flight when its client gives up.
//!
//! The command that takes the lock, or its reply, is in flight: the key stays, but no client can release it (L15:
//! redisson#5358). Caught by `claims` when a client gives up while the reply is late.

use std::time::Duration;

use crate::BuiltInLock;
use crate::attempts::{self, Attempts};
use crate::contract::Taken;
use crate::variation::{Variation, Varied, varied};

pub(crate) const LOCK: BuiltInLock = varied::<CancelLeavesKey>(
    "cancel-leaves-key",
    "mutant: set-nx-px that drops a command in flight when its client gives up, and leaves the key",
);

#[derive(Default)]
struct CancelLeavesKey;

impl Variation for CancelLeavesKey {
    async fn acquire(lock: &mut Varied<Self>, key: &str, ttl: Duration, wait: Duration) -> Taken {
        let canceller = lock.context().canceller.clone();
        tokio::select! {
            biased;
            () = canceller.cancelled() => Ok(None),
            taken = attempts::acquire(lock, key, ttl, wait) => taken,
        }
    }
}
