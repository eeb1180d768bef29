//! `seconds-as-millis`: `SET key token NX PX` with a number of seconds where Redis expects milliseconds.
//!
//! The key of a lease of one second is gone after a millisecond (S6). Caught without any fault: by `lease`, and by
//! `claims`, cause `wrong-expiry`.

use crate::BuiltInLock;
use crate::contract::Taken;
use crate::lease::Lease;
use crate::stopwatch::Stopwatch;
use crate::variation::{Variation, Varied, varied};

pub(crate) const LOCK: BuiltInLock = varied::<SecondsAsMillis>(
    "seconds-as-millis",
    "mutant: SET NX PX with a number of seconds; the key is gone at once",
);

#[derive(Default)]
struct SecondsAsMillis;

impl Variation for SecondsAsMillis {
    async fn attempt(lock: &mut Varied<Self>, key: &str, name: &str, lease: Lease) -> Taken {
        let requested = Stopwatch::start();
        let seconds = (lease.millis() / 1000).max(1);
        let mut set = redis::cmd("SET");
        set.arg(key).arg(name).arg("NX").arg("PX").arg(seconds);
        let taken: bool = lock.original.redis.ask(set).await?;
        Ok(taken.then(|| lease.grant(name, requested)))
    }
}
