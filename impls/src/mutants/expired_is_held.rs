//! `expired-is-held`: redlock that never checks its validity.
//!
//! A grant whose replies arrive after the lease has expired counts as held (S5, Kleppmann's K4: the replies wait in a
//! buffer while the client is frozen). The mutant has no time limit per node either, because that would refuse such
//! replies by accident. Caught by a freeze as the grant's replies arrive, cause `expired-grant`.

use crate::locks::redlock::{OPTIONS, Redlock, Rules};
use crate::{BuiltInLock, Kind};

pub(crate) const LOCK: BuiltInLock = BuiltInLock {
    name: "expired-is-held",
    summary: "mutant: redlock without the validity check",
    nodes: 5,
    replicas: 0,
    kind: Kind::Mutex,
    options: OPTIONS,
    build: |nodes, context| {
        let rules = Rules {
            nodes_timed: false,
            validity: |lease, spent| Some(lease.saturating_sub(spent)),
            ..Rules::PUBLISHED
        };
        Box::new(Redlock::new(nodes, context, rules))
    },
};
