//! `watchdog-outlives-unlock`: a watchdog that continues to renew a released lock.
//!
//! If the release does not reach Redis, the key is kept alive although no client holds it, for as long as the client
//! lives (L2). Caught by `progress` when a release is lost: the key of a sound lock expires.

use crate::locks::watchdog::{OPTIONS, watchdog};
use crate::renewal::RenewalRules;
use crate::{BuiltInLock, Kind};

pub(crate) const LOCK: BuiltInLock = BuiltInLock {
    name: "watchdog-outlives-unlock",
    summary: "mutant: a watchdog that renews the lock even after its release",
    nodes: 1,
    replicas: 0,
    kind: Kind::Mutex,
    options: OPTIONS,
    build: |nodes, context| {
        let rules = RenewalRules {
            ends_at_release: false,
            ..RenewalRules::SOUND
        };
        Box::new(watchdog(nodes, context, rules))
    },
};
