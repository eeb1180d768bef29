//! `extend-recreates`: `set-nx-px` whose extension takes the lock again if its key is gone.
//!
//! The holder never learns of the gap in which another client had the lock and changed the protected resource (S3:
//! RedLock.net#48, redis-semaphore#175, redlock-rb#36). Caught by `resource` when a holder freezes between two
//! extensions until its successor has come and gone.

use std::time::Duration;

use crate::BuiltInLock;
use crate::contract::{Grant, Lock, Taken};
use crate::lease::Lease;
use crate::locks::set_nx_px::set_nx_px;
use crate::stopwatch::Stopwatch;
use crate::variation::{Variation, Varied, varied};

pub(crate) const LOCK: BuiltInLock = varied::<ExtendRecreates>(
    "extend-recreates",
    "mutant: set-nx-px whose extension acquires a lost lock again",
);

#[derive(Default)]
struct ExtendRecreates;

impl Variation for ExtendRecreates {
    async fn extend(lock: &mut Varied<Self>, key: &str, grant: &Grant, ttl: Duration) -> Taken {
        let extended = Lock::extend(&mut lock.original, key, grant, ttl).await?;
        if extended.is_some() {
            return Ok(extended);
        }
        let lease = Lease::new(ttl)?;
        let requested = Stopwatch::start();
        let command = set_nx_px(key, &grant.token, lease);
        let taken: bool = lock.original.redis.ask(command).await?;
        Ok(taken.then(|| lease.extended(grant, requested)))
    }
}
