//! `watchdog-silent`: a watchdog whose renewals may fail for good without any report.
//!
//! The holder continues to work without a lease (S2), as with a renewal thread that dies of an
//! exception. Caught by `resource`, cause `expired-grant`, when it freezes as its grant arrives and wakes
//! after the lease: the holder of a sound lock is told in time not to touch the stock. `outlived-lease`
//! when a holder with a long section loses its connection: nothing tells it that its lease is over.

use crate::BuiltInLock;
use crate::locks::watchdog::{OPTIONS, watchdog};
use crate::renewal::Habits;

pub(crate) const LOCK: BuiltInLock = BuiltInLock {
    name: "watchdog-silent",
    summary: "mutant: a watchdog that does not report the loss of the lease",
    nodes: 1,
    replicas: 0,
    options: OPTIONS,
    build: |nodes, context| {
        let habits = Habits {
            tells_of_loss: false,
            ..Habits::SOUND
        };
        Box::new(watchdog(nodes, context, habits))
    },
};
