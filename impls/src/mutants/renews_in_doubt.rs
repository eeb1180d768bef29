//! `renews-in-doubt`: a watchdog that renews a lock that it may have taken, although it reported a
//! failure to its caller.
//!
//! When the answer to its SET is lost, the key exists with the client's name, and no client knows.
//! Left alone it would expire. Renewed by name it keeps all clients out, its own included, for as
//! long as that client lives (S11). Caught by `progress`, cause `ambiguous-acquire`, when the reply
//! to an acquisition is lost.

use std::time::Duration;

use crate::attempts::{self, Attempts};
use crate::contract::{Grant, Taken};
use crate::delegating_lock::DelegatingLock;
use crate::lease::Lease;
use crate::locks::set_nx_px::SetNxPx;
use crate::locks::watchdog::OPTIONS;
use crate::renewal::{Habits, Renewals};
use crate::renewing::Renewable;
use crate::stopwatch::Deadline;
use crate::{BuiltInLock, Context};

pub(crate) const LOCK: BuiltInLock = BuiltInLock {
    name: "renews-in-doubt",
    summary: "mutant: a watchdog that renews even a lock that it may not have",
    nodes: 1,
    replicas: 0,
    options: OPTIONS,
    build: |nodes, context| {
        let habits = Habits {
            minds_the_lease: false,
            ..Habits::SOUND
        };
        Box::new(RenewsInDoubt {
            lock: SetNxPx::new(nodes, context),
            renewals: Renewals::new(habits),
        })
    },
};

struct RenewsInDoubt {
    lock: SetNxPx,
    renewals: Renewals,
}

impl Attempts for RenewsInDoubt {
    fn context(&mut self) -> &mut Context {
        &mut self.lock.context
    }

    async fn attempt(&mut self, key: &str, name: &str, lease: Lease) -> Taken {
        let tried = self.lock.attempt(key, name, lease).await;
        if tried.as_ref().is_err_and(|error| !error.is_definite()) {
            // Only the name of this grant is known, so the renewal asks at once.
            let perhaps = Grant {
                token: name.to_owned(),
                fence: None,
                valid_until: Some(Deadline::after(Duration::ZERO)),
            };
            let renewal = self.lock.renewal(key, &perhaps, lease);
            let options = self.lock.options();
            self.renewals
                .begin(options, &perhaps, lease.duration(), renewal);
        }
        tried
    }
}

impl DelegatingLock for RenewsInDoubt {
    type Original = SetNxPx;

    fn original(&mut self) -> &mut SetNxPx {
        &mut self.lock
    }

    async fn acquire(&mut self, key: &str, ttl: Duration, wait: Duration) -> Taken {
        attempts::acquire(self, key, ttl, wait).await
    }
}
