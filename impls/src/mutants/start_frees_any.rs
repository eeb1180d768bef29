//! `start-frees-any`: `set-nx-px` whose process first deletes the key of the lock that it wants, as what an earlier
//! process has left behind.
//!
//! A client that starts while another one holds frees the lock (S4). Caught by `ownership`, cause `stolen-release`,
//! when a client is started again.

use crate::BuiltInLock;
use crate::attempts::Attempts;
use crate::contract::Taken;
use crate::lease::Lease;
use crate::variation::{Variation, Varied, varied};

pub(crate) const LOCK: BuiltInLock = varied::<StartFreesAny>(
    "start-frees-any",
    "mutant: set-nx-px that deletes the key of the lock when its process starts",
);

/// Whether it has tidied up.
#[derive(Default)]
struct StartFreesAny(bool);

impl Variation for StartFreesAny {
    async fn attempt(lock: &mut Varied<Self>, key: &str, name: &str, lease: Lease) -> Taken {
        if !std::mem::replace(&mut lock.way.0, true) {
            lock.original.redis.ask::<u64>(redis::Cmd::del(key)).await?;
        }
        lock.original.attempt(key, name, lease).await
    }
}
