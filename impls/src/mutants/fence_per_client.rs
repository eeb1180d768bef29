//! `fence-per-client`: each client counts its own fencing tokens.
//!
//! The tokens increase per client and cannot be compared between clients (S13): a resource that relies on them refuses
//! a rightful holder, or admits one that outlived its lease. Caught by `fencing` as soon as the lock passes from a
//! client that has held it often to one that has not.

use std::time::Duration;

use crate::BuiltInLock;
use crate::contract::{Grant, Lock, Taken};
use crate::variation::{Variation, Varied, varied};

pub(crate) const LOCK: BuiltInLock = varied::<FencePerClient>(
    "fence-per-client",
    "mutant: each client counts its own fencing tokens",
);

#[derive(Default)]
struct FencePerClient {
    grants: u64,
}

impl Variation for FencePerClient {
    async fn acquire(lock: &mut Varied<Self>, key: &str, ttl: Duration, wait: Duration) -> Taken {
        let grant = Lock::acquire(&mut lock.original, key, ttl, wait).await?;
        Ok(grant.map(|grant| {
            lock.variation.grants += 1;
            Grant {
                fence: Some(lock.variation.grants),
                ..grant
            }
        }))
    }
}
