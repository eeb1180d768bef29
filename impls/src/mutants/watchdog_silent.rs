//! `watchdog-silent`: a watchdog whose renewals may fail for good, and nobody is told.
//!
//! The holder works on without a lease (S2), as with a renewal thread that dies of an exception.
//! To be caught by `resource`, cause `outlived-lease`, when a holder with a long section is cut
//! off from Redis: the sound one is told in time not to touch the stock.

use crate::Strategy;
use crate::renewal::Habits;
use crate::strategies::watchdog::{OPTIONS, watchdog};

pub(crate) const STRATEGY: Strategy = Strategy {
    name: "watchdog-silent",
    summary: "mutant: a watchdog that keeps the loss of the lease to itself",
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
