//! `watchdog-silent`: a watchdog whose renewals may fail permanently without any report.
//!
//! The holder continues to work without a lease (S2), as with a renewal thread that dies of an exception. Caught by
//! `resource`, cause `expired-grant`, when the holder freezes as its grant arrives and wakes after the lease; a sound
//! lock reports the loss before its holder touches the stock. Caught with cause `outlived-lease` when a holder with a
//! long section loses its connection and gets no report that its lease is over.

use crate::locks::watchdog::{OPTIONS, watchdog};
use crate::renewal::RenewalRules;
use crate::{BuiltInLock, Kind};

pub(crate) const LOCK: BuiltInLock = BuiltInLock {
    name: "watchdog-silent",
    summary: "mutant: a watchdog that does not report the loss of the lease",
    nodes: 1,
    replicas: 0,
    kind: Kind::Mutex,
    options: OPTIONS,
    build: |nodes, context| {
        let rules = RenewalRules {
            reports_loss: false,
            ..RenewalRules::SOUND
        };
        Box::new(watchdog(nodes, context, rules))
    },
};
