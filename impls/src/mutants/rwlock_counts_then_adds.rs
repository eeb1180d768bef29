//! `rwlock-counts-then-adds`: `rwlock` that looks for the others in one command, and gets in by the next one.
//!
//! Between the two another client gets in. Caught by `exclusion` without any fault.

use crate::BuiltInLock;
use crate::varied_rwlock::{Mistake, VariedReadWriteLock, varied};

pub(crate) const LOCK: BuiltInLock = varied(
    "rwlock-counts-then-adds",
    "mutant: rwlock that checks for other holders in one command and enters in the next one",
    |nodes, context| {
        Box::new(VariedReadWriteLock::new(
            nodes,
            context,
            Mistake::CountsThenAdds,
        ))
    },
);
