//! `validity-by-wall-clock`: `set-nx-px` that measures the duration of its acquisition on the wall clock.
//!
//! A clock that is set back in between makes the measured time negative, and the client assumes more than its lease
//! (S9: redlock-py and others subtract `time.time()`). Caught by `lease` when a client's clock is set back while its
//! `SET` is in flight, and by `claims`, cause `wrong-expiry`.

use crate::BuiltInLock;
use crate::contract::{Grant, Taken};
use crate::lease::Lease;
use crate::locks::set_nx_px::set_nx_px;
use crate::stopwatch::Deadline;
use crate::variation::{Variation, Varied, varied};

pub(crate) const LOCK: BuiltInLock = varied::<ValidityByWallClock>(
    "validity-by-wall-clock",
    "mutant: set-nx-px that measures its validity on the wall clock",
);

#[derive(Default)]
struct ValidityByWallClock;

impl Variation for ValidityByWallClock {
    async fn attempt(lock: &mut Varied<Self>, key: &str, name: &str, lease: Lease) -> Taken {
        let asked_at = lock.original.context.wall_clock.since_epoch();
        let taken: bool = lock.original.redis.ask(set_nx_px(key, name, lease)).await?;
        let answered_at = lock.original.context.wall_clock.since_epoch();
        // The lease minus the time that passed, which is negative if the clock was set back.
        let valid_for = (lease.duration() + asked_at).saturating_sub(answered_at);
        Ok(taken.then(|| Grant {
            token: name.to_owned(),
            fence: None,
            valid_until: Some(Deadline::after(valid_for)),
        }))
    }
}
