//! `split-key`: `set-nx-px` that adds a number of its own process to the key.
//!
//! Each client has a lock of its own (S17: foreman#8392, an id from a hash that differs from process to
//! process). Caught by `lease`, cause `split-key`, as soon as two clients meet.

use std::time::Duration;

use crate::BuiltInLock;
use crate::contract::{Grant, Lock, LockError, Taken};
use crate::delegating_lock::DelegatingLock;
use crate::locks::set_nx_px::SetNxPx;

pub(crate) const LOCK: BuiltInLock = BuiltInLock::on_one_node(
    "split-key",
    "mutant: set-nx-px whose clients each derive a key of their own",
    |nodes, mut context| {
        Box::new(SplitKey {
            process: context.token(),
            lock: SetNxPx::new(nodes, context),
        })
    },
);

struct SplitKey {
    lock: SetNxPx,
    process: String,
}

impl SplitKey {
    fn derived(&self, key: &str) -> String {
        format!("{key}:{}", self.process)
    }
}

impl DelegatingLock for SplitKey {
    type Original = SetNxPx;

    fn original(&mut self) -> &mut SetNxPx {
        &mut self.lock
    }

    async fn acquire(&mut self, key: &str, ttl: Duration, wait: Duration) -> Taken {
        let key = self.derived(key);
        Lock::acquire(&mut self.lock, &key, ttl, wait).await
    }

    async fn extend(&mut self, key: &str, grant: &Grant, ttl: Duration) -> Taken {
        let key = self.derived(key);
        Lock::extend(&mut self.lock, &key, grant, ttl).await
    }

    async fn release(&mut self, key: &str, grant: &Grant) -> Result<bool, LockError> {
        let key = self.derived(key);
        Lock::release(&mut self.lock, &key, grant).await
    }
}
