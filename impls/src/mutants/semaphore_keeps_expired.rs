//! `semaphore-keeps-expired`: `semaphore` that never removes the permits of holders whose leases are over.
//!
//! The permit of a dead holder never comes back (redisson#2213). Caught by `progress` after a crash.

use crate::BuiltInLock;
use crate::varied_semaphore::{Mistake, VariedSemaphore, varied};

pub(crate) const LOCK: BuiltInLock = varied(
    "semaphore-keeps-expired",
    "mutant: semaphore that never removes the permits of holders whose leases are over",
    |nodes, context| Box::new(VariedSemaphore::new(nodes, context, Mistake::KeepsExpired)),
);
