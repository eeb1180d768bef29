//! `rwlock-reader-ignores-writer`: `rwlock` whose readers do not check for a writer.
//!
//! The script checks only that no writer waits. Caught by `exclusion` and `resource` without any fault.

use crate::BuiltInLock;
use crate::varied_rwlock::{Mistake, VariedReadWriteLock, varied};

pub(crate) const LOCK: BuiltInLock = varied(
    "rwlock-reader-ignores-writer",
    "mutant: rwlock whose readers do not look for a writer",
    |nodes, context| {
        Box::new(VariedReadWriteLock::new(
            nodes,
            context,
            Mistake::ReaderIgnoresWriter,
        ))
    },
);
