//! `phantom-extend`: a watchdog that renews by writing its key again, whatever the key holds.
//!
//! It checks neither its own lease nor the owner of the key. A client that was frozen for longer than its lease takes
//! the lock again without noticing the gap, and its holder continues to work (S3). Caught by `lease`, cause
//! `phantom-extend`, when a holder freezes with work left to do.

use std::time::Duration;

use redis::{Cmd, SetExpiry, SetOptions};

use crate::contract::{Grant, LockError, Taken};
use crate::lease::Lease;
use crate::locks::watchdog::OPTIONS;
use crate::options::Options;
use crate::renewal::RenewalRules;
use crate::renewing::{Renewable, Renewing};
use crate::stopwatch::Deadline;
use crate::variation::{Variation, Varied};
use crate::{BuiltInLock, Kind};

pub(crate) const LOCK: BuiltInLock = BuiltInLock {
    name: "phantom-extend",
    summary: "mutant: a watchdog whose renewal rewrites the key, lost or not",
    nodes: 1,
    replicas: 0,
    kind: Kind::Mutex,
    options: OPTIONS,
    build: |nodes, context| {
        let rules = RenewalRules {
            respects_lease: false,
            ..RenewalRules::SOUND
        };
        let blind = Varied::new(nodes, context, WritesAgain);
        Box::new(Renewing::new(blind, rules))
    },
};

/// Extends without checking the key.
pub(crate) struct WritesAgain;

fn write_anew(key: &str, grant: &Grant, lease: Lease) -> Cmd {
    let options = SetOptions::default().with_expiration(SetExpiry::PX(lease.millis()));
    Cmd::set_options(key, &grant.token, options)
}

impl Renewable for Varied<WritesAgain> {
    fn options(&self) -> &Options {
        &self.original.context.options
    }

    fn renewal(
        &self,
        key: &str,
        grant: &Grant,
        lease: Lease,
    ) -> impl AsyncFnMut() -> Result<Option<Deadline>, LockError> + 'static {
        let mut redis = self.original.redis.separate();
        let command = write_anew(key, grant, lease);
        async move || {
            redis.ask::<()>(command.clone()).await?;
            Ok(Some(Deadline::after(lease.duration())))
        }
    }
}

impl Variation for WritesAgain {
    async fn extend(lock: &mut Varied<Self>, key: &str, grant: &Grant, ttl: Duration) -> Taken {
        let lease = Lease::new(ttl)?;
        let command = write_anew(key, grant, lease);
        lock.original.redis.ask::<()>(command).await?;
        Ok(Some(Grant {
            valid_until: Some(Deadline::after(lease.duration())),
            ..grant.clone()
        }))
    }
}
