//! `releases-a-quorum`: redlock that releases on a majority of its nodes only.
//!
//! Redlock promises more: "releasing the lock is simple: it involves just releasing the lock in all the instances"
//! (redis.io). The lock is free anyway, because another client finds a majority without the released value. But the
//! next client needs exactly those nodes, and waits for a lease if one of them is gone (L14). No property is violated.
//! A limit on the latency of `acquire` catches it.

use crate::locks::redlock::{OPTIONS, Redlock, Rules};
use crate::{BuiltInLock, Kind};

pub(crate) const LOCK: BuiltInLock = BuiltInLock {
    name: "releases-a-quorum",
    summary: "mutant: redlock that releases on a majority of its nodes only",
    nodes: 5,
    replicas: 0,
    kind: Kind::Mutex,
    options: OPTIONS,
    build: |nodes, context| {
        let rules = Rules {
            releases_every_node: false,
            ..Rules::PUBLISHED
        };
        Box::new(Redlock::new(nodes, context, rules))
    },
};
