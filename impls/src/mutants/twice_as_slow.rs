//! `twice-as-slow`: `set-nx-px` that reads the key before it takes it, and ignores the result.
//!
//! It is safe: the read changes nothing and costs one more round trip. Caught by a limit on the latency of `acquire`,
//! where round trips determine the cost of an acquisition.

use std::time::Duration;

use crate::BuiltInLock;
use crate::contract::{Lock, Taken};
use crate::variation::{Variation, Varied, varied};

pub(crate) const LOCK: BuiltInLock = varied::<TwiceAsSlow>(
    "twice-as-slow",
    "mutant: set-nx-px with an unnecessary round trip before each acquisition",
);

#[derive(Default)]
struct TwiceAsSlow;

impl Variation for TwiceAsSlow {
    async fn acquire(lock: &mut Varied<Self>, key: &str, ttl: Duration, wait: Duration) -> Taken {
        let _seen: Option<String> = lock.original.redis.ask(redis::Cmd::get(key)).await?;
        Lock::acquire(&mut lock.original, key, ttl, wait).await
    }
}
