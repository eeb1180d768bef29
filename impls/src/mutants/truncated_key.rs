//! `truncated-key`: `set-nx-px` that keeps only the first 16 bytes of the key.
//!
//! Locks whose names begin alike are one lock: each blocks the others. With a single lock nothing is
//! wrong. Caught by `claims`, cause `shared-key`, and by `progress`, when two locks have different
//! holders that work for long.

use std::time::Duration;

use crate::BuiltInLock;
use crate::contract::{Grant, Lock, LockError, Taken};
use crate::delegating_lock::DelegatingLock;
use crate::locks::set_nx_px::SetNxPx;

pub(crate) const LOCK: BuiltInLock = BuiltInLock::on_one_node(
    "truncated-key",
    "mutant: set-nx-px that keeps the first 16 bytes of the key",
    |nodes, context| Box::new(TruncatedKey(SetNxPx::new(nodes, context))),
);

struct TruncatedKey(SetNxPx);

/// Its column for names is that wide.
const LONGEST: usize = 16;

fn cut(key: &str) -> &str {
    let boundary = (0..=LONGEST.min(key.len()))
        .rev()
        .find(|end| key.is_char_boundary(*end));
    &key[..boundary.unwrap_or(0)]
}

impl DelegatingLock for TruncatedKey {
    type Original = SetNxPx;

    fn original(&mut self) -> &mut SetNxPx {
        &mut self.0
    }

    async fn acquire(&mut self, key: &str, ttl: Duration, wait: Duration) -> Taken {
        Lock::acquire(&mut self.0, cut(key), ttl, wait).await
    }

    async fn extend(&mut self, key: &str, grant: &Grant, ttl: Duration) -> Taken {
        Lock::extend(&mut self.0, cut(key), grant, ttl).await
    }

    async fn release(&mut self, key: &str, grant: &Grant) -> Result<bool, LockError> {
        Lock::release(&mut self.0, cut(key), grant).await
    }
}
