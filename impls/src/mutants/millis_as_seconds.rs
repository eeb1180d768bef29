//! `millis-as-seconds`: `SET key token NX EX` with a number of milliseconds where Redis expects seconds.
//!
//! The key of a holder that dies stays for a thousand times the lease (S6: phpredis#640). Caught by `claims`, cause
//! `wrong-expiry`, without any fault.

use crate::BuiltInLock;
use crate::contract::Taken;
use crate::lease::Lease;
use crate::stopwatch::Stopwatch;
use crate::variation::{Variation, Varied, varied};

pub(crate) const LOCK: BuiltInLock = varied::<MillisAsSeconds>(
    "millis-as-seconds",
    "mutant: SET NX EX with a number of milliseconds; the key stays for hours",
);

#[derive(Default)]
struct MillisAsSeconds;

impl Variation for MillisAsSeconds {
    async fn attempt(lock: &mut Varied<Self>, key: &str, name: &str, lease: Lease) -> Taken {
        let requested = Stopwatch::start();
        let mut set = redis::cmd("SET");
        set.arg(key).arg(name).arg("NX").arg("EX");
        set.arg(lease.millis());
        let taken: bool = lock.original.redis.ask(set).await?;
        Ok(taken.then(|| lease.grant(name, requested)))
    }
}
