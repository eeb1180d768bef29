//! `validity-by-wall-clock`: `set-nx-px` that measures on the wall clock how long the taking took.
//!
//! A clock that is set back in between makes the measured time negative, and the client believes in
//! more than its lease (S9: redlock-py and others subtract `time.time()`). Caught by `lease` when a
//! client's clock is set back while its `SET` is on its way, and by `claims`, cause `wrong-expiry`.

use std::time::Duration;

use crate::attempts::{self, Attempts};
use crate::contract::{Grant, Taken};
use crate::delegating_lock::DelegatingLock;
use crate::lease::Lease;
use crate::locks::set_nx_px::{SetNxPx, set_nx_px};
use crate::stopwatch::Deadline;
use crate::{BuiltInLock, Context};

pub(crate) const LOCK: BuiltInLock = BuiltInLock::on_one_node(
    "validity-by-wall-clock",
    "mutant: set-nx-px that measures its validity on the wall clock",
    |nodes, context| Box::new(ValidityByWallClock(SetNxPx::new(nodes, context))),
);

struct ValidityByWallClock(SetNxPx);

impl Attempts for ValidityByWallClock {
    fn context(&mut self) -> &mut Context {
        &mut self.0.context
    }

    async fn attempt(&mut self, key: &str, name: &str, lease: Lease) -> Taken {
        let asked_at = self.0.context.wall_clock.since_epoch();
        let taken: bool = self.0.redis.ask(set_nx_px(key, name, lease)).await?;
        let answered_at = self.0.context.wall_clock.since_epoch();
        // The lease minus the time that passed, which is negative if the clock was set back.
        let valid_for = (lease.duration() + asked_at).saturating_sub(answered_at);
        Ok(taken.then(|| Grant {
            token: name.to_owned(),
            fence: None,
            valid_until: Some(Deadline::after(valid_for)),
        }))
    }
}

impl DelegatingLock for ValidityByWallClock {
    type Original = SetNxPx;

    fn original(&mut self) -> &mut SetNxPx {
        &mut self.0
    }

    async fn acquire(&mut self, key: &str, ttl: Duration, wait: Duration) -> Taken {
        attempts::acquire(self, key, ttl, wait).await
    }
}
