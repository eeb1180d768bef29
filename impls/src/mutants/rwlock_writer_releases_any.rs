//! `rwlock-writer-releases-any`: `rwlock` whose writers delete the key in their release, without a comparison.
//!
//! A writer is alone while it holds the lock, so this shows only if its release is late and another client is in.
//! Caught by `ownership` if the network delays the release.

use crate::BuiltInLock;
use crate::varied_rwlock::{Mistake, VariedReadWriteLock, varied};

pub(crate) const LOCK: BuiltInLock = varied(
    "rwlock-writer-releases-any",
    "mutant: rwlock whose writers delete the key in their release",
    |nodes, context| {
        Box::new(VariedReadWriteLock::new(
            nodes,
            context,
            Mistake::WriterReleasesAny,
        ))
    },
);
