//! `sleeps-until-notified`: `signal-list` whose waiters sleep until a release wakes them.
//!
//! A holder that dies or loses its lock sends no signal, and the waiters do not check the key on their own (L8:
//! redisson#5761, python-redis-lock#71). Caught by `progress` when the holder dies and its waiters have time.

use crate::locks::signal_list::{NAP, SignalList};
use crate::variation::Varied;
use crate::{BuiltInLock, Kind};

pub(crate) const LOCK: BuiltInLock = BuiltInLock {
    name: "sleeps-until-notified",
    summary: "mutant: signal-list whose waiters sleep until a release wakes them",
    nodes: 1,
    replicas: 0,
    kind: Kind::Mutex,
    options: &[&NAP],
    build: |nodes, context| Box::new(Varied::new(nodes, context, SignalList::BySignal)),
};
