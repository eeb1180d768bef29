//! `fence-per-client`: each client counts its own fencing tokens.
//!
//! The tokens increase for one client and mean nothing between two (S13): a resource that trusts
//! them refuses a rightful holder, or lets in one that outlived its lease. Caught by `fencing` as
//! soon as the lock passes from a client that has held it often to one that has not.

use std::time::Duration;

use crate::BuiltInLock;
use crate::contract::{Grant, Lock, Taken};
use crate::delegating_lock::DelegatingLock;
use crate::locks::set_nx_px::SetNxPx;

pub(crate) const LOCK: BuiltInLock = BuiltInLock::on_one_node(
    "fence-per-client",
    "mutant: each client counts its own fencing tokens",
    |nodes, context| {
        Box::new(FencePerClient {
            lock: SetNxPx::new(nodes, context),
            grants: 0,
        })
    },
);

struct FencePerClient {
    lock: SetNxPx,
    grants: u64,
}

impl DelegatingLock for FencePerClient {
    type Original = SetNxPx;

    fn original(&mut self) -> &mut SetNxPx {
        &mut self.lock
    }

    async fn acquire(&mut self, key: &str, ttl: Duration, wait: Duration) -> Taken {
        let grant = Lock::acquire(&mut self.lock, key, ttl, wait).await?;
        Ok(grant.map(|grant| {
            self.grants += 1;
            Grant {
                fence: Some(self.grants),
                ..grant
            }
        }))
    }
}
