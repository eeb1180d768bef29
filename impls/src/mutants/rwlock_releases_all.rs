//! `rwlock-releases-all`: `rwlock` whose release deletes the key.
//!
//! The release of one reader ends the holds of all other readers, so that a writer gets the lock. Caught by `ownership`
//! without any fault.

use crate::BuiltInLock;
use crate::varied_rwlock::{Mistake, VariedReadWriteLock, varied};

pub(crate) const LOCK: BuiltInLock = varied(
    "rwlock-releases-all",
    "mutant: rwlock whose release deletes the key",
    |nodes, context| {
        Box::new(VariedReadWriteLock::new(
            nodes,
            context,
            Mistake::ReleasesAll,
        ))
    },
);
