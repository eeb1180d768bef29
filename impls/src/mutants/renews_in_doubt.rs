//! `renews-in-doubt`: a watchdog that renews a lock that it may have taken, although it reported a
//! failure to its caller.
//!
//! When the reply to its `SET` is lost, the key exists with the client's name although the client reported a failure.
//! The key would expire on its own. Renewed by name, it locks out all clients, including its own, for as long as that
//! client lives (S11). Caught by `progress`, cause `ambiguous-acquire`, when the reply to an acquisition is lost.

use std::time::Duration;

use crate::attempts::Attempts;
use crate::contract::{Grant, Taken};
use crate::lease::Lease;
use crate::locks::watchdog::OPTIONS;
use crate::renewal::{Habits, Renewals};
use crate::renewing::Renewable;
use crate::stopwatch::Deadline;
use crate::variation::{Variation, Varied};
use crate::{BuiltInLock, Kind};

pub(crate) const LOCK: BuiltInLock = BuiltInLock {
    name: "renews-in-doubt",
    summary: "mutant: a watchdog that renews even a lock that it may not have",
    nodes: 1,
    replicas: 0,
    kind: Kind::Mutex,
    options: OPTIONS,
    build: |nodes, context| {
        let habits = Habits {
            minds_the_lease: false,
            ..Habits::SOUND
        };
        let renewals = Renewals::new(habits);
        Box::new(Varied::new(nodes, context, RenewsInDoubt { renewals }))
    },
};

struct RenewsInDoubt {
    renewals: Renewals,
}

impl Variation for RenewsInDoubt {
    async fn attempt(lock: &mut Varied<Self>, key: &str, name: &str, lease: Lease) -> Taken {
        let Varied { original, way } = lock;
        let tried = original.attempt(key, name, lease).await;
        if tried.as_ref().is_err_and(|error| !error.is_definite()) {
            // The validity of this grant is unknown, so the renewal is sent at once.
            let perhaps = Grant {
                token: name.to_owned(),
                fence: None,
                valid_until: Some(Deadline::after(Duration::ZERO)),
            };
            let renewal = original.renewal(key, &perhaps, lease);
            let options = original.options();
            way.renewals
                .begin(options, &perhaps, lease.duration(), renewal);
        }
        tried
    }
}
