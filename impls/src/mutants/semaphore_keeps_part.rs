//! `semaphore-keeps-part`: `semaphore-counter` that takes its permits one by one, and keeps the ones that it got if
//! another is missing.
//!
//! The attempt is refused, and its permits are leaked. Caught by `progress` if clients take several permits.

use crate::BuiltInLock;
use crate::varied_counter::{Mistake, VariedCounter};
use crate::varied_semaphore::varied;

pub(crate) const LOCK: BuiltInLock = varied(
    "semaphore-keeps-part",
    "mutant: semaphore-counter that keeps a part of the permits if it does not get all",
    |nodes, context| Box::new(VariedCounter::new(nodes, context, Mistake::KeepsPart)),
);
