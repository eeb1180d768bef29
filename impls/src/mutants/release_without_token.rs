//! `release-without-token`: `set-nx-px` whose release is a plain `DEL`.
//!
//! A late holder deletes its successor's lock (S4). Caught by `ownership`, cause `stolen-release`,
//! when a holder outlives its lease and then releases.

use crate::BuiltInLock;
use crate::contract::{Grant, LockError};
use crate::delegating_lock::DelegatingLock;
use crate::locks::set_nx_px::SetNxPx;
use crate::patience::RETRY;

pub(crate) const LOCK: BuiltInLock = BuiltInLock {
    name: "release-without-token",
    summary: "mutant: set-nx-px whose release deletes any lock that it finds",
    nodes: 1,
    replicas: 0,
    options: RETRY,
    build: |nodes, context| Box::new(ReleaseWithoutToken(SetNxPx::new(nodes, context))),
};

struct ReleaseWithoutToken(SetNxPx);

impl DelegatingLock for ReleaseWithoutToken {
    type Original = SetNxPx;

    fn original(&mut self) -> &mut SetNxPx {
        &mut self.0
    }

    async fn release(&mut self, key: &str, _grant: &Grant) -> Result<bool, LockError> {
        let deleted: u64 = self.0.redis.ask(redis::Cmd::del(key)).await?;
        Ok(deleted == 1)
    }
}
