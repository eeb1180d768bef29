//! `one-renewal`: a watchdog with one renewal task per client.
//!
//! A second grant replaces the renewal of the first, whose key then expires while its client works (S2, as a field that
//! holds the timer of "the" lock). Caught by `claims` and by `exclusion`, cause `silent-loss`, when a client holds
//! two locks for long.

use crate::locks::watchdog::{OPTIONS, watchdog};
use crate::renewal::RenewalRules;
use crate::{BuiltInLock, Kind};

pub(crate) const LOCK: BuiltInLock = BuiltInLock {
    name: "one-renewal",
    summary: "mutant: a watchdog with one renewal, which a second grant replaces",
    nodes: 1,
    replicas: 0,
    kind: Kind::Mutex,
    options: OPTIONS,
    build: |nodes, context| {
        let rules = RenewalRules {
            renews_every_grant: false,
            ..RenewalRules::SOUND
        };
        Box::new(watchdog(nodes, context, rules))
    },
};
