//! `timeout-is-release`: `set-nx-px` that counts an unanswered release as a success.
//!
//! Its holder assumes that the lock is free, but the key stays until it expires (L4: madelson/DistributedLock#191).
//! Caught by `claims`, cause `false-release`, when a release is lost in transit.

use crate::BuiltInLock;
use crate::contract::{Grant, Lock, LockError};
use crate::variation::{Variation, Varied, varied};

pub(crate) const LOCK: BuiltInLock = varied::<TimeoutIsRelease>(
    "timeout-is-release",
    "mutant: set-nx-px that claims success for a release without an answer",
);

#[derive(Default)]
struct TimeoutIsRelease;

impl Variation for TimeoutIsRelease {
    async fn release(lock: &mut Varied<Self>, key: &str, grant: &Grant) -> Result<bool, LockError> {
        match Lock::release(&mut lock.original, key, grant).await {
            Err(LockError::Ambiguous(_)) => Ok(true),
            answer => answer,
        }
    }
}
