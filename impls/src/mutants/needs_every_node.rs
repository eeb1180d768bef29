//! `needs-every-node`: redlock that requires all of its nodes instead of a majority.
//!
//! One missing node stops every client (L6: redlock-rb#60). Caught by `progress`, cause `waits-for-every-node`, when a
//! minority of the nodes does not answer.

use crate::locks::redlock::{OPTIONS, Redlock, Rules};
use crate::{BuiltInLock, Kind};

pub(crate) const LOCK: BuiltInLock = BuiltInLock {
    name: "needs-every-node",
    summary: "mutant: redlock that grants only if all nodes do",
    nodes: 5,
    replicas: 0,
    kind: Kind::Mutex,
    options: OPTIONS,
    build: |nodes, context| {
        let rules = Rules {
            quorum: |nodes| nodes,
            ..Rules::PUBLISHED
        };
        Box::new(Redlock::new(nodes, context, rules))
    },
};
