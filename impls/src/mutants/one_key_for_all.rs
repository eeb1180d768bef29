//! `one-key-for-all`: `set-nx-px` that ignores the name of the lock and always takes the same key.
//!
//! Every lock blocks every other one. With a single lock nothing is wrong. Caught by `claims`, cause
//! `shared-key`, and by `progress`, when two locks have different holders that work for long.

use std::time::Duration;

use crate::BuiltInLock;
use crate::contract::{Grant, Lock, LockError, Taken};
use crate::delegating_lock::DelegatingLock;
use crate::locks::set_nx_px::SetNxPx;

pub(crate) const LOCK: BuiltInLock = BuiltInLock::on_one_node(
    "one-key-for-all",
    "mutant: set-nx-px that uses the same key for every lock",
    |nodes, context| Box::new(OneKeyForAll(SetNxPx::new(nodes, context))),
);

struct OneKeyForAll(SetNxPx);

const KEY: &str = "lock";

impl DelegatingLock for OneKeyForAll {
    type Original = SetNxPx;

    fn original(&mut self) -> &mut SetNxPx {
        &mut self.0
    }

    async fn acquire(&mut self, _key: &str, ttl: Duration, wait: Duration) -> Taken {
        Lock::acquire(&mut self.0, KEY, ttl, wait).await
    }

    async fn extend(&mut self, _key: &str, grant: &Grant, ttl: Duration) -> Taken {
        Lock::extend(&mut self.0, KEY, grant, ttl).await
    }

    async fn release(&mut self, _key: &str, grant: &Grant) -> Result<bool, LockError> {
        Lock::release(&mut self.0, KEY, grant).await
    }
}
