//! `whole-seconds`: `SET key token NX EX seconds`, with the lease rounded down to whole seconds.
//!
//! The client reports the requested lease, but the key expires up to a second earlier (S6). Leases of whole seconds are
//! correct. Caught with a lease of 1,500 ms: by `lease` when the work takes longer than a second, and by `claims`,
//! cause `wrong-expiry`, in any case.

use crate::BuiltInLock;
use crate::contract::Taken;
use crate::lease::Lease;
use crate::stopwatch::Stopwatch;
use crate::variation::{Variation, Varied, varied};

pub(crate) const LOCK: BuiltInLock = varied::<WholeSeconds>(
    "whole-seconds",
    "mutant: SET NX EX with the whole seconds of the lease, rounded down",
);

#[derive(Default)]
struct WholeSeconds;

impl Variation for WholeSeconds {
    async fn attempt(lock: &mut Varied<Self>, key: &str, name: &str, lease: Lease) -> Taken {
        let requested = Stopwatch::start();
        let seconds = (lease.millis() / 1000).max(1);
        let mut set = redis::cmd("SET");
        set.arg(key).arg(name).arg("NX").arg("EX").arg(seconds);
        let taken: bool = lock.original.redis.ask(set).await?;
        Ok(taken.then(|| lease.grant(name, requested)))
    }
}
