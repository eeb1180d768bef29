//! `rwlock-keeps-expired`: `rwlock` that never removes the holders whose leases are over.
//!
//! A reader that dies keeps all writers out. Caught by `progress` in `read-write-reader-crash`.

use crate::BuiltInLock;
use crate::varied_rwlock::{Mistake, VariedReadWriteLock, varied};

pub(crate) const LOCK: BuiltInLock = varied(
    "rwlock-keeps-expired",
    "mutant: rwlock that never removes dead holders",
    |nodes, context| {
        Box::new(VariedReadWriteLock::new(
            nodes,
            context,
            Mistake::KeepsExpired,
        ))
    },
);
