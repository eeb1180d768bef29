//! `rwlock-writer-ignores-readers`: `rwlock` whose writers do not check for readers.
//!
//! The script checks only that no other writer holds the lock. Caught by `exclusion` and `resource` without any fault.

use crate::BuiltInLock;
use crate::varied_rwlock::{Mistake, VariedReadWriteLock, varied};

pub(crate) const LOCK: BuiltInLock = varied(
    "rwlock-writer-ignores-readers",
    "mutant: rwlock whose writers do not look for readers",
    |nodes, context| {
        Box::new(VariedReadWriteLock::new(
            nodes,
            context,
            Mistake::WriterIgnoresReaders,
        ))
    },
);
