//! `waits-for-reply`: `set-nx-px` whose client waits much longer for a reply than it was told to.
//!
//! If a reply gets lost, the client does not ask again for several leases, although the lock is free (L10). Caught by
//! `progress` when the reply to an acquisition is lost.

use crate::BuiltInLock;
use crate::attempts::Attempts;
use crate::contract::Taken;
use crate::lease::Lease;
use crate::variation::{Variation, Varied, varied};

pub(crate) const LOCK: BuiltInLock = varied::<WaitsForReply>(
    "waits-for-reply",
    "mutant: set-nx-px that waits for a reply for too long",
);

/// Number of leases for which the client waits after the real timeout.
const LEASES: u32 = 5;

#[derive(Default)]
struct WaitsForReply;

impl Variation for WaitsForReply {
    async fn attempt(lock: &mut Varied<Self>, key: &str, name: &str, lease: Lease) -> Taken {
        let tried = lock.original.attempt(key, name, lease).await;
        if tried.as_ref().is_err_and(|error| !error.is_definite()) {
            tokio::time::sleep(lease.duration() * LEASES).await;
        }
        tried
    }
}
