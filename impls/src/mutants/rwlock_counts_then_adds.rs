//! `rwlock-counts-then-adds`: `rwlock` that looks for the others in one command, and gets in by the next one.
//!
//! Between the two another client gets in. Caught by `exclusion` without any fault.

use crate::BuiltInLock;
use crate::varied_rwlock::{Mistake, VariedReadWriteLock, varied};

pub(crate) const LOCK: BuiltInLock = varied(
    "rwlock-counts-then-adds",
    "mutant: rwlock that looks for the others first and gets in later",
    |nodes, context| {
        Box::new(VariedReadWriteLock::new(
            nodes,
            context,
            Mistake::CountsThenAdds,
        ))
    },
);
