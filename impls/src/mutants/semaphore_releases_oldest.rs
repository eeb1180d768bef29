//! `semaphore-releases-oldest`: `semaphore` that gives back the oldest permit, even if it belongs to another client.
//!
//! The releasing client takes another one's permit away, and leaves its own. Caught by `ownership`.

use crate::BuiltInLock;
use crate::varied_semaphore::{Mistake, VariedSemaphore, varied};

pub(crate) const LOCK: BuiltInLock = varied(
    "semaphore-releases-oldest",
    "mutant: semaphore that gives back the oldest permit, even if it belongs to another client",
    |nodes, context| {
        Box::new(VariedSemaphore::new(
            nodes,
            context,
            Mistake::ReleasesOldest,
        ))
    },
);
