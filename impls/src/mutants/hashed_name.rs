//! `hashed-name`: `set-nx-px` whose key is a 32-bit hash of the lock's name.
//!
//! Two names with equal hashes are one lock (S12: `keyAa` and `keyBB` in Java). Caught by `claims`, cause `shared-key`,
//! when the names are chosen like that.

use std::time::Duration;

use crate::BuiltInLock;
use crate::contract::{Grant, Lock, LockError, Taken};
use crate::variation::{Variation, Varied, varied};

pub(crate) const LOCK: BuiltInLock = varied::<HashedName>(
    "hashed-name",
    "mutant: set-nx-px whose key is a short hash of the lock's name",
);

#[derive(Default)]
struct HashedName;

/// Returns the key of a lock, with Java's `String.hashCode` of its name.
fn hashed(name: &str) -> String {
    let units = name.encode_utf16();
    let hash = units.fold(0_u32, |hash, unit| {
        hash.wrapping_mul(31).wrapping_add(u32::from(unit))
    });
    format!("lock:{hash:08x}")
}

impl Variation for HashedName {
    async fn acquire(lock: &mut Varied<Self>, key: &str, ttl: Duration, wait: Duration) -> Taken {
        Lock::acquire(&mut lock.original, &hashed(key), ttl, wait).await
    }

    async fn extend(lock: &mut Varied<Self>, key: &str, grant: &Grant, ttl: Duration) -> Taken {
        Lock::extend(&mut lock.original, &hashed(key), grant, ttl).await
    }

    async fn release(lock: &mut Varied<Self>, key: &str, grant: &Grant) -> Result<bool, LockError> {
        Lock::release(&mut lock.original, &hashed(key), grant).await
    }
}
