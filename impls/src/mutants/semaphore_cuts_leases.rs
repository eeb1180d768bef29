//! `semaphore-cuts-leases`: `semaphore` that sets the expiry of all permits to twice the lease of the last one.
//!
//! A permit with a short lease deletes the permits with longer ones (redisson#2144 for readers). Caught by `exclusion`
//! if one client requests a shorter lease.

use crate::BuiltInLock;
use crate::varied_semaphore::{Mistake, VariedSemaphore, varied};

pub(crate) const LOCK: BuiltInLock = varied(
    "semaphore-cuts-leases",
    "mutant: semaphore in which a permit with a short lease cuts the others' leases",
    |nodes, context| Box::new(VariedSemaphore::new(nodes, context, Mistake::CutsLeases)),
);
