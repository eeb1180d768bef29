//! `cron-never-releases`: `set-nx-px` whose release sends a `GET` and nothing else.
//!
//! The key stays until its expiry, over the next ticks (L4). Caught by `once`, cause `skipped-tick`, when the lease is
//! longer than the interval.

use crate::BuiltInLock;
use crate::contract::{Grant, LockError};
use crate::variation::{Variation, Varied, varied};

pub(crate) const LOCK: BuiltInLock = varied::<NeverReleases>(
    "cron-never-releases",
    "mutant: set-nx-px that leaves its key after the job",
);

#[derive(Default)]
struct NeverReleases;

impl Variation for NeverReleases {
    async fn release(lock: &mut Varied<Self>, key: &str, grant: &Grant) -> Result<bool, LockError> {
        let value: Option<String> = lock.original.redis.ask(redis::Cmd::get(key)).await?;
        Ok(value.as_ref() == Some(&grant.token))
    }
}
