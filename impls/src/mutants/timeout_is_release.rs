//! `timeout-is-release`: `set-nx-px` that counts an unanswered release as a success.
//!
//! Its holder believes that the lock is free, and the key stays until it expires (L4:
//! madelson/DistributedLock#191). Caught by `claims`, cause `false-release`, when a release is lost on
//! its way.

use crate::BuiltInLock;
use crate::contract::{Grant, Lock, LockError};
use crate::delegating_lock::DelegatingLock;
use crate::locks::set_nx_px::SetNxPx;
use crate::patience::RETRY;

pub(crate) const LOCK: BuiltInLock = BuiltInLock {
    name: "timeout-is-release",
    summary: "mutant: set-nx-px that claims success for a release without an answer",
    nodes: 1,
    replicas: 0,
    options: RETRY,
    build: |nodes, context| Box::new(TimeoutIsRelease(SetNxPx::new(nodes, context))),
};

struct TimeoutIsRelease(SetNxPx);

impl DelegatingLock for TimeoutIsRelease {
    type Original = SetNxPx;

    fn original(&mut self) -> &mut SetNxPx {
        &mut self.0
    }

    async fn release(&mut self, key: &str, grant: &Grant) -> Result<bool, LockError> {
        match Lock::release(&mut self.0, key, grant).await {
            Err(LockError::Ambiguous(_)) => Ok(true),
            answer => answer,
        }
    }
}
