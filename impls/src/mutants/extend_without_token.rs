//! `extend-without-token`: `set-nx-px` whose extension is a plain `PEXPIRE`.
//!
//! A late holder extends its successor's lock, and treats it as its own (S4: Redisson's MultiLock extends without
//! checking the owner). Caught by `lease`, cause `phantom-extend`, when a holder freezes between two extensions and
//! wakes while its successor holds the lock.

use std::time::Duration;

use crate::BuiltInLock;
use crate::contract::{Grant, Taken};
use crate::lease::Lease;
use crate::stopwatch::Stopwatch;
use crate::variation::{Variation, Varied, varied};

pub(crate) const LOCK: BuiltInLock = varied::<ExtendWithoutToken>(
    "extend-without-token",
    "mutant: set-nx-px whose extension extends any client's lock",
);

#[derive(Default)]
struct ExtendWithoutToken;

impl Variation for ExtendWithoutToken {
    async fn extend(lock: &mut Varied<Self>, key: &str, grant: &Grant, ttl: Duration) -> Taken {
        let lease = Lease::new(ttl)?;
        let requested = Stopwatch::start();
        let command = redis::Cmd::pexpire(key, lease.millis().cast_signed());
        let there: bool = lock.original.redis.ask(command).await?;
        Ok(there.then(|| lease.extended(grant, requested)))
    }
}
