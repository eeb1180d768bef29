//! `truncated-key`: `set-nx-px` that keeps only the first 16 bytes of the key.
//!
//! Locks whose names share their first 16 bytes are one lock: each blocks the others. With a single lock nothing is
//! wrong. Caught by `claims`, cause `shared-key`, and by `progress`, when two locks have different holders with long
//! sections.

use std::time::Duration;

use crate::BuiltInLock;
use crate::contract::{Grant, Lock, LockError, Taken};
use crate::variation::{Variation, Varied, varied};

pub(crate) const LOCK: BuiltInLock = varied::<TruncatedKey>(
    "truncated-key",
    "mutant: set-nx-px that keeps the first 16 bytes of the key",
);

#[derive(Default)]
struct TruncatedKey;

/// Width of the imagined database column for names, in bytes.
const LONGEST: usize = 16;

fn cut(key: &str) -> &str {
    let boundary = (0..=LONGEST.min(key.len()))
        .rev()
        .find(|end| key.is_char_boundary(*end));
    &key[..boundary.unwrap_or(0)]
}

impl Variation for TruncatedKey {
    async fn acquire(lock: &mut Varied<Self>, key: &str, ttl: Duration, wait: Duration) -> Taken {
        Lock::acquire(&mut lock.original, cut(key), ttl, wait).await
    }

    async fn extend(lock: &mut Varied<Self>, key: &str, grant: &Grant, ttl: Duration) -> Taken {
        Lock::extend(&mut lock.original, cut(key), grant, ttl).await
    }

    async fn release(lock: &mut Varied<Self>, key: &str, grant: &Grant) -> Result<bool, LockError> {
        Lock::release(&mut lock.original, cut(key), grant).await
    }
}
