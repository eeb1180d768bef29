//! `semaphore-returns-one`: `semaphore-counter` that gives back one permit in a release, however many were taken.
//!
//! The other permits leak. Caught by `progress` if clients take several permits.

use crate::BuiltInLock;
use crate::varied_counter::{Mistake, VariedCounter};
use crate::varied_semaphore::varied;

pub(crate) const LOCK: BuiltInLock = varied(
    "semaphore-returns-one",
    "mutant: semaphore-counter that gives back one permit, however many were taken",
    |nodes, context| Box::new(VariedCounter::new(nodes, context, Mistake::ReturnsOne)),
);
