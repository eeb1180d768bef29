//! `failure-leaves-key`: `set-nx-px` whose holder does not release when its critical section fails.
//!
//! The release follows the work and is not in a `finally` or in the guard's `drop`. An exception skips it, and the key
//! stays until its lease has expired (L4). Caught by `claims` when a section fails.

use crate::BuiltInLock;
use crate::contract::{Grant, LockError};
use crate::variation::{Variation, Varied, varied};

pub(crate) const LOCK: BuiltInLock = varied::<FailureLeavesKey>(
    "failure-leaves-key",
    "mutant: set-nx-px that is not released when a section fails",
);

#[derive(Default)]
struct FailureLeavesKey;

impl Variation for FailureLeavesKey {
    async fn section_failed(
        _lock: &mut Varied<Self>,
        _key: &str,
        _grant: &Grant,
    ) -> Result<bool, LockError> {
        Ok(false)
    }
}
