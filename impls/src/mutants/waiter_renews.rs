//! `waiter-renews`: `set-nx-px` that reads the key first and gives it a new expiry each time.
//!
//! While any client waits, the key of a dead holder never expires (L12). Caught by `progress`, cause `foreign-renewal`,
//! when a holder dies.

use crate::BuiltInLock;
use crate::attempts::Attempts;
use crate::contract::Taken;
use crate::lease::Lease;
use crate::variation::{Variation, Varied, varied};

pub(crate) const LOCK: BuiltInLock = varied::<WaiterRenews>(
    "waiter-renews",
    "mutant: set-nx-px whose waiters look by PEXPIRE, and so keep the key alive",
);

#[derive(Default)]
struct WaiterRenews;

impl Variation for WaiterRenews {
    async fn attempt(lock: &mut Varied<Self>, key: &str, name: &str, lease: Lease) -> Taken {
        let look = redis::Cmd::pexpire(key, lease.millis().cast_signed());
        if lock.original.redis.ask::<bool>(look).await? {
            Ok(None)
        } else {
            lock.original.attempt(key, name, lease).await
        }
    }
}
