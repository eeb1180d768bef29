//! `redlock-no-quorum`: redlock that accepts a single node.
//!
//! This is the erosion of the quorum by design (S8): two clients that reach different nodes first both hold the lock.
//! In a calm scenario that is a matter of luck. A scenario that splits the votes, by delaying each client's commands to
//! other nodes, shows it every time.

use crate::locks::redlock::{OPTIONS, Redlock, Rules};
use crate::{BuiltInLock, Kind};

pub(crate) const LOCK: BuiltInLock = BuiltInLock {
    name: "redlock-no-quorum",
    summary: "mutant: redlock that treats one node of five as a majority",
    nodes: 5,
    replicas: 0,
    kind: Kind::Mutex,
    options: OPTIONS,
    build: |nodes, context| {
        let rules = Rules {
            quorum: |_nodes| 1,
            ..Rules::PUBLISHED
        };
        Box::new(Redlock::new(nodes, context, rules))
    },
};
