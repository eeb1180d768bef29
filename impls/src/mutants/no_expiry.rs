//! `no-expiry`: `SET key token NX` without a TTL.
//!
//! A holder that dies keeps the lock for ever (L1). Caught by `progress`, cause `no-ttl`, when a holder crashes. The
//! release is correct, so that this is the only defect.

use std::time::Duration;

use redis::{ExistenceCheck, SetOptions};

use crate::BuiltInLock;
use crate::contract::{Grant, Taken};
use crate::lease::Lease;
use crate::variation::{Variation, Varied, varied};

pub(crate) const LOCK: BuiltInLock = varied::<NoExpiry>(
    "no-expiry",
    "mutant: SET NX without a TTL; a dead holder keeps the lock",
);

#[derive(Default)]
struct NoExpiry;

impl Variation for NoExpiry {
    async fn attempt(lock: &mut Varied<Self>, key: &str, name: &str, _lease: Lease) -> Taken {
        let options = SetOptions::default().conditional_set(ExistenceCheck::NX);
        let command = redis::Cmd::set_options(key, name, options);
        let taken: bool = lock.original.redis.ask(command).await?;
        Ok(taken.then(|| Grant {
            token: name.to_owned(),
            fence: None,
            // The lock is held until it is released, without a time limit.
            valid_until: None,
        }))
    }

    /// Sends nothing, because a key without a TTL needs no extension.
    async fn extend(_lock: &mut Varied<Self>, _key: &str, grant: &Grant, ttl: Duration) -> Taken {
        Lease::new(ttl)?;
        Ok(Some(grant.clone()))
    }
}
