//! `validity-underflow`: redlock that computes its validity in unsigned milliseconds.
//!
//! When the replies take longer than the lease, `lease - elapsed - drift` wraps around, and the client reports a
//! validity of about 2^64 ms (S6: redlock-rs#20). A check that some validity is left never fails. Like
//! `expired-is-held` it has no time limit per node, because that would refuse such replies by accident. Caught by
//! `lease` when a client freezes as the grant's replies arrive, and by `claims`, cause `wrong-expiry`.

use std::time::Duration;

use crate::locks::redlock::{OPTIONS, Redlock, Rules};
use crate::{BuiltInLock, Kind};

pub(crate) const LOCK: BuiltInLock = BuiltInLock {
    name: "validity-underflow",
    summary: "mutant: redlock whose validity wraps around below zero",
    nodes: 5,
    replicas: 0,
    kind: Kind::Mutex,
    options: OPTIONS,
    build: |nodes, context| {
        let rules = Rules {
            nodes_timed: false,
            validity: |lease, spent| {
                let left = millis(lease).wrapping_sub(millis(spent));
                (left > 0).then_some(Duration::from_millis(left))
            },
            ..Rules::PUBLISHED
        };
        Box::new(Redlock::new(nodes, context, rules))
    },
};

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
