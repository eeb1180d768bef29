//! `retry-without-token`: `set-nx-px` whose release, when its answer is lost, is tried again with a
//! plain `DEL`.
//!
//! The first try compares the token, the second one does not (S4 after L4). If only the answer was
//! lost, the lock is free since the first try, and the second one deletes the successor's. Caught by
//! `ownership`, cause `stolen-release`, when the reply to a release is lost.

use crate::BuiltInLock;
use crate::contract::{Grant, Lock, LockError};
use crate::delegating_lock::DelegatingLock;
use crate::locks::set_nx_px::SetNxPx;
use crate::patience::RETRY;

pub(crate) const LOCK: BuiltInLock = BuiltInLock {
    name: "retry-without-token",
    summary: "mutant: set-nx-px that repeats an unanswered release as a plain DEL",
    nodes: 1,
    replicas: 0,
    options: RETRY,
    build: |nodes, context| Box::new(RetryWithoutToken(SetNxPx::new(nodes, context))),
};

struct RetryWithoutToken(SetNxPx);

impl DelegatingLock for RetryWithoutToken {
    type Original = SetNxPx;

    fn original(&mut self) -> &mut SetNxPx {
        &mut self.0
    }

    async fn release(&mut self, key: &str, grant: &Grant) -> Result<bool, LockError> {
        match Lock::release(&mut self.0, key, grant).await {
            Err(LockError::Ambiguous(_)) => {
                let deleted: u64 = self.0.redis.ask(redis::Cmd::del(key)).await?;
                Ok(deleted == 1)
            }
            answer => answer,
        }
    }
}
