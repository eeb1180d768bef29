//! `half-quorum`: redlock on four nodes that accepts two of them.
//!
//! Two halves need not have a node in common (L10: an even number of nodes, RedLock.net#29). Caught by `lease`, cause
//! `unbacked-grant`, when the network splits the nodes between two clients.

use crate::locks::redlock::{OPTIONS, Redlock, Rules};
use crate::{BuiltInLock, Kind};

pub(crate) const LOCK: BuiltInLock = BuiltInLock {
    name: "half-quorum",
    summary: "mutant: redlock on four nodes that treats two as a majority",
    nodes: 4,
    replicas: 0,
    kind: Kind::Mutex,
    options: OPTIONS,
    build: |nodes, context| {
        let rules = Rules {
            quorum: |nodes| nodes / 2,
            ..Rules::PUBLISHED
        };
        Box::new(Redlock::new(nodes, context, rules))
    },
};
