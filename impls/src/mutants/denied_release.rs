//! `denied-release`: `set-nx-px` that releases the lock, and then reports that it was no longer its client's.
//!
//! Its release deletes the key, and compares the server's answer with a value of the wrong type, so that every release
//! counts as a failure. Caught by `claims`, cause `false-release`, without any fault.

use crate::BuiltInLock;
use crate::contract::{Grant, Lock, LockError};
use crate::variation::{Variation, Varied, varied};

pub(crate) const LOCK: BuiltInLock = varied::<DeniedRelease>(
    "denied-release",
    "mutant: set-nx-px that reports no release after it has deleted its key",
);

#[derive(Default)]
struct DeniedRelease;

impl Variation for DeniedRelease {
    async fn release(lock: &mut Varied<Self>, key: &str, grant: &Grant) -> Result<bool, LockError> {
        let answer = Lock::release(&mut lock.original, key, grant).await;
        answer.map(|_| false)
    }
}
