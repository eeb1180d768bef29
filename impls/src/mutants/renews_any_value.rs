//! `renews-any-value`: a watchdog that renews by a plain `PEXPIRE`, whatever the key holds, until its holder releases.
//!
//! A holder that wakes up late extends its successor's lock (S4: Redisson's MultiLock). If the successor is dead, no
//! client gets the lock for as long as the late holder works. Caught by `ownership`, and by `progress` when the
//! successor dies, cause `foreign-renewal`.

use crate::contract::{Grant, LockError};
use crate::lease::Lease;
use crate::locks::watchdog::OPTIONS;
use crate::options::Options;
use crate::renewal::RenewalRules;
use crate::renewing::{Renewable, Renewing};
use crate::stopwatch::Deadline;
use crate::variation::{Variation, Varied};
use crate::{BuiltInLock, Kind};

pub(crate) const LOCK: BuiltInLock = BuiltInLock {
    name: "renews-any-value",
    summary: "mutant: a watchdog that renews whatever value the key holds",
    nodes: 1,
    replicas: 0,
    kind: Kind::Mutex,
    options: OPTIONS,
    build: |nodes, context| {
        let rules = RenewalRules {
            respects_lease: false,
            ..RenewalRules::SOUND
        };
        let lock = Varied::new(nodes, context, RenewsAnyValue);
        Box::new(Renewing::new(lock, rules))
    },
};

struct RenewsAnyValue;

impl Variation for RenewsAnyValue {}

impl Renewable for Varied<RenewsAnyValue> {
    fn options(&self) -> &Options {
        &self.original.context.options
    }

    fn renewal(
        &self,
        key: &str,
        _grant: &Grant,
        lease: Lease,
    ) -> impl AsyncFnMut() -> Result<Option<Deadline>, LockError> + 'static {
        let mut redis = self.original.redis.separate();
        let command = redis::Cmd::pexpire(key, lease.millis().cast_signed());
        async move || {
            let _: bool = redis.ask(command.clone()).await?;
            Ok(Some(Deadline::after(lease.duration())))
        }
    }
}
