//! `semaphore-signals-once`: `semaphore` whose waiters sleep until they have received a signal for each permit, and
//! whose release sends one.
//!
//! A release of two permits does not wake a waiter for two permits (redisson#6664). Caught by `progress`.

use crate::BuiltInLock;
use crate::varied_semaphore::{Mistake, VariedSemaphore, varied};

pub(crate) const LOCK: BuiltInLock = varied(
    "semaphore-signals-once",
    "mutant: semaphore whose waiters count signals as permits, and whose release sends one",
    |nodes, context| Box::new(VariedSemaphore::new(nodes, context, Mistake::SignalsOnce)),
);
