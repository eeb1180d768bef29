//! `quorum-of-answers`: redlock that requires a majority of only those nodes that have answered.
//!
//! Two clients that reach different nodes both get such a majority (S8, L6: an unreachable node is left out of the
//! count). Caught by `lease`, cause `unbacked-grant`, when the network splits the nodes between two clients.

use crate::locks::redlock::{OPTIONS, Redlock, Rules};
use crate::{BuiltInLock, Kind};

pub(crate) const LOCK: BuiltInLock = BuiltInLock {
    name: "quorum-of-answers",
    summary: "mutant: redlock that needs a majority only of the nodes that answer",
    nodes: 5,
    replicas: 0,
    kind: Kind::Mutex,
    options: OPTIONS,
    build: |nodes, context| {
        let rules = Rules {
            counts_silent_nodes: false,
            ..Rules::PUBLISHED
        };
        Box::new(Redlock::new(nodes, context, rules))
    },
};
