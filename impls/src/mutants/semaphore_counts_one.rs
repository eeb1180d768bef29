//! `semaphore-counts-one`: `semaphore-counter` that counts one permit in an acquisition, however many were requested.
//!
//! Its release gives back all of them, so it mints permits. Caught by `exclusion` and `resource` if clients take
//! several permits.

use crate::BuiltInLock;
use crate::varied_counter::{Mistake, VariedCounter};
use crate::varied_semaphore::varied;

pub(crate) const LOCK: BuiltInLock = varied(
    "semaphore-counts-one",
    "mutant: semaphore-counter that counts one permit, however many were requested",
    |nodes, context| Box::new(VariedCounter::new(nodes, context, Mistake::CountsOne)),
);
