//! `fenced`: `set-nx-px` that numbers its grants, so that the resource can distinguish old from new.
//!
//! **Commands.** Acquire: `set_and_count.lua` on the key and on `key:fence`, its counter. Extend:
//! `compare_and_pexpire.lua`. Release: `compare_and_delete.lua`. The counter has no time to live,
//! and no release touches it.
//!
//! **From.** Kleppmann 2016, "How to do distributed locking", "Making the lock safe with
//! fencing". Redisson's `RFencedLock` also counts in the script that takes the lock.
//!
//! **Promises.** The same as `set-nx-px`. The fencing tokens also increase strictly in the order in which the lock was
//! held, because taking the key and counting are one step on one server: a later grant is counted later, and a refused
//! client is not counted. So a resource that refuses tokens lower than the highest it has seen shuts out every holder
//! that outlived its lease. An extension keeps the token, because it is still the same hold.
//!
//! **Does not survive.**
//! - A resource that does not check the token.
//! - Loss of the counter: failover before it was replicated, restart without persistence, flush,
//!   eviction. The counter then starts again from a lower number. The resource refuses the rightful
//!   holder, or two holders have the same number (S13 after S7, S8, S10).
//! - A grant whose reply arrives after the lease has expired is passed on (S5). The token then
//!   protects the resource.

use std::sync::LazyLock;

use redis::Script;

use crate::BuiltInLock;
use crate::contract::{Grant, Taken};
use crate::lease::Lease;
use crate::stopwatch::Stopwatch;
use crate::variation::{Variation, Varied, varied};

/// Takes the key if it is free, and counts its grants.
pub(crate) static SET_AND_COUNT: LazyLock<Script> =
    LazyLock::new(|| Script::new(include_str!("set_and_count.lua")));

pub(crate) const LOCK: BuiltInLock = varied::<Fenced>(
    "fenced",
    "set-nx-px with a fencing token, counted in the same script",
);

/// Extends and releases like `set-nx-px`.
#[derive(Default)]
struct Fenced;

impl Variation for Fenced {
    async fn attempt(lock: &mut Varied<Self>, key: &str, name: &str, lease: Lease) -> Taken {
        let requested = Stopwatch::start();
        let number: u64 = SET_AND_COUNT
            .key(key)
            .key(format!("{key}:fence"))
            .arg(name)
            .arg(lease.millis())
            .invoke_async(lock.original.redis.connection()?)
            .await?;
        Ok((number > 0).then(|| Grant {
            fence: Some(number),
            ..lease.grant(name, requested)
        }))
    }
}
