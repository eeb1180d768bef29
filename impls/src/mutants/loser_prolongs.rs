//! `loser-prolongs`: `SETNX`, then `PEXPIRE` whether or not `SETNX` took the key.
//!
//! Each client that is refused postpones the holder's expiry (L12: kenn/redis-mutex#5). Caught by `progress`, cause
//! `foreign-renewal`, when a holder dies and others wait for it.

use crate::BuiltInLock;
use crate::contract::Taken;
use crate::lease::Lease;
use crate::stopwatch::Stopwatch;
use crate::variation::{Variation, Varied, varied};

pub(crate) const LOCK: BuiltInLock = varied::<LoserProlongs>(
    "loser-prolongs",
    "mutant: SETNX, then PEXPIRE by winners and losers alike",
);

#[derive(Default)]
struct LoserProlongs;

impl Variation for LoserProlongs {
    async fn attempt(lock: &mut Varied<Self>, key: &str, name: &str, lease: Lease) -> Taken {
        let requested = Stopwatch::start();
        let taken: bool = lock
            .original
            .redis
            .ask(redis::Cmd::set_nx(key, name))
            .await?;
        let expiry = lease.millis().cast_signed();
        let _: bool = lock
            .original
            .redis
            .ask(redis::Cmd::pexpire(key, expiry))
            .await?;
        Ok(taken.then(|| lease.grant(name, requested)))
    }
}
