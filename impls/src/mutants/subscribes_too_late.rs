//! `subscribes-too-late`: `pubsub` that does not try again once it is subscribed.
//!
//! It misses a release between its attempt and its subscription, and sleeps until its wait is over (L8: redisson#1763).
//! Caught by `progress` when the `SUBSCRIBE` is late.

use crate::locks::pubsub::PubSub;
use crate::{BuiltInLock, Kind};

pub(crate) const LOCK: BuiltInLock = BuiltInLock {
    name: "subscribes-too-late",
    summary: "mutant: pubsub whose waiters miss a release just before their SUBSCRIBE",
    nodes: 1,
    replicas: 0,
    kind: Kind::Mutex,
    options: &[],
    build: |nodes, context| {
        let tries_when_subscribed = false;
        Box::new(PubSub::new(nodes, context, tries_when_subscribed))
    },
};
