//! `semaphore-one-too-many`: `semaphore` that grants one permit more than exist.
//!
//! The number of permits is compared with `>` instead of `>=`. Caught by `exclusion` and `resource` without any fault.

use crate::BuiltInLock;
use crate::varied_semaphore::{Mistake, VariedSemaphore, varied};

pub(crate) const LOCK: BuiltInLock = varied(
    "semaphore-one-too-many",
    "mutant: semaphore that grants one permit too many",
    |nodes, context| Box::new(VariedSemaphore::new(nodes, context, Mistake::OneTooMany)),
);
