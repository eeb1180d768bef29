//! `rwlock-counts-then-adds`: `rwlock` that checks for other holders in one command, and adds its own hold in the next.
//!
//! Another client may get the lock between the two commands. Caught by `exclusion` without any fault, and in every run
//! if the network is slow.

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
