//! `cancel-leaves-renewal`: `set-nx-px` whose renewal begins before the lock is taken, and continues after its client
//! has given up.
//!
//! When the client gives up, the command that takes the lock is still in flight. The key that it writes is renewed for
//! ever and never released (L2, L15: redisson#5358). Caught by `progress` when a client gives up while the reply is
//! late.

use std::time::Duration;

use crate::BuiltInLock;
use crate::attempts::Attempts;
use crate::contract::Taken;
use crate::lease::Lease;
use crate::variation::{Variation, Varied, varied};

pub(crate) const LOCK: BuiltInLock = varied::<CancelLeavesRenewal>(
    "cancel-leaves-renewal",
    "mutant: set-nx-px that renews forever what it took after its client had given up",
);

#[derive(Default)]
struct CancelLeavesRenewal;

impl Variation for CancelLeavesRenewal {
    async fn acquire(lock: &mut Varied<Self>, key: &str, ttl: Duration, wait: Duration) -> Taken {
        let lease = Lease::new(ttl)?;
        let patience = lock.context().patience(wait, ttl);
        let canceller = lock.context().canceller.clone();
        let name = lock.name();
        loop {
            let mut extension = lock.original.extension(key, &name, lease);
            let taken = tokio::select! {
                biased;
                () = canceller.cancelled() => {
                    tokio::task::spawn_local(async move {
                        loop {
                            // The result is ignored.
                            extension.ask().await.ok();
                            tokio::time::sleep(ttl / 3).await;
                        }
                    });
                    return Ok(None);
                }
                taken = lock.attempt(key, &name, lease) => taken?,
            };
            if taken.is_some() || !lock.context().another_attempt(patience).await {
                return Ok(taken);
            }
        }
    }
}
