//! `renews-in-doubt`: a watchdog that renews a lock that it may have taken, although it reported a
//! failure to its caller.
//!
//! When the reply to its `SET` is lost, the key exists with the client's name although the client reported a failure.
//! The key would expire on its own. Renewed by name, it locks out all clients, including its own, for as long as that
//! client lives (S11). Caught by `progress`, cause `ambiguous-acquire`, when the reply to an acquisition is lost.

use std::collections::VecDeque;
use std::time::Duration;

use crate::attempts::Attempts;
use crate::contract::{Grant, Taken};
use crate::lease::Lease;
use crate::locks::watchdog::OPTIONS;
use crate::renewal::{RenewalRules, Renewals};
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
        let rules = RenewalRules {
            respects_lease: false,
            ..RenewalRules::SOUND
        };
        let variation = RenewsInDoubt {
            renewals: Renewals::new(rules),
            doubts: VecDeque::new(),
        };
        Box::new(Varied::new(nodes, context, variation))
    },
};

/// Maximum number of renewals at the same time. While no server can be reached, each attempt begins another one, and
/// without a limit their requests grow with the square of the time.
const MAX_DOUBTS: usize = 8;

struct RenewsInDoubt {
    renewals: Renewals,
    /// The latest attempts in doubt, oldest first.
    doubts: VecDeque<Grant>,
}

impl RenewsInDoubt {
    /// Records an attempt in doubt, and stops the renewal of the oldest one if there are too many.
    fn record(&mut self, perhaps: Grant) {
        self.doubts.retain(|doubt| doubt.token != perhaps.token);
        self.doubts.push_back(perhaps);
        if self.doubts.len() > MAX_DOUBTS
            && let Some(oldest) = self.doubts.pop_front()
        {
            self.renewals.end(&oldest);
        }
    }
}

impl Variation for RenewsInDoubt {
    async fn attempt(lock: &mut Varied<Self>, key: &str, name: &str, lease: Lease) -> Taken {
        let Varied {
            original,
            variation,
        } = lock;
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
            variation
                .renewals
                .begin(options, &perhaps, lease.duration(), renewal);
            variation.record(perhaps);
        }
        tried
    }
}
