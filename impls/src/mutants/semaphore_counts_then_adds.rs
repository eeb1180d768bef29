//! `semaphore-counts-then-adds`: `semaphore` that counts in one command and takes a permit in the next one.
//!
//! Two clients that count before either of them has added find the same free permit. Caught by `exclusion` and
//! `resource` when clients ask at the same time.

use crate::BuiltInLock;
use crate::varied_semaphore::{Mistake, VariedSemaphore, varied};

pub(crate) const LOCK: BuiltInLock = varied(
    "semaphore-counts-then-adds",
    "mutant: semaphore that counts in one command and takes a permit in the next one",
    |nodes, context| {
        Box::new(VariedSemaphore::new(
            nodes,
            context,
            Mistake::CountsThenAdds,
        ))
    },
);
