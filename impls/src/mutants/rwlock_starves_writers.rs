//! `rwlock-starves-writers`: `rwlock` whose waiting writers leave no mark.
//!
//! Readers that never leave a gap keep a writer out. Caught by `progress` in `read-write-writer-starved`.

use crate::BuiltInLock;
use crate::varied_rwlock::{Mistake, VariedReadWriteLock, varied};

pub(crate) const LOCK: BuiltInLock = varied(
    "rwlock-starves-writers",
    "mutant: rwlock whose waiting writers leave no mark",
    |nodes, context| {
        Box::new(VariedReadWriteLock::new(
            nodes,
            context,
            Mistake::StarvesWriters,
        ))
    },
);
