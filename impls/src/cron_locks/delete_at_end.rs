//! `cron-del`: the lock around a scheduled job from many articles, which is deleted when the job is done.
//!
//! **Commands.** Acquire: `SET key token NX PX ms`. Release: `DEL key`.
//!
//! **From.** Articles on "run a cron job on one instance only". go-co-op/gocron and ShedLock worked like this without
//! further settings (gocron#841, ShedLock#639).
//!
//! **Promises.** No two instances run the job at the same time, while Redis keeps the key and no job outlives its
//! lease.
//!
//! **Does not survive.**
//! - A job that is shorter than clocks and timers differ (S22): the lock is free again when the next instance gets its
//!   tick, and the job runs again.
//! - A job that is slower than its lease: its release deletes the key of another instance (S4).
//! - Loss of the key: failover, restart, a jump of the server's clock, eviction (S7 to S10).

use crate::BuiltInLock;
use crate::contract::{Grant, LockError};
use crate::variation::{Variation, Varied, varied};

pub(crate) const LOCK: BuiltInLock = varied::<DeleteAtEnd>(
    "cron-del",
    "lock of a scheduled job: SET NX PX, and DEL when the job is done",
);

#[derive(Default)]
struct DeleteAtEnd;

impl Variation for DeleteAtEnd {
    async fn release(
        lock: &mut Varied<Self>,
        key: &str,
        _grant: &Grant,
    ) -> Result<bool, LockError> {
        let deleted: u64 = lock.original.redis.ask(redis::Cmd::del(key)).await?;
        Ok(deleted == 1)
    }
}
