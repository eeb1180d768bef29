//! `watchdog-outlives-unlock`: a watchdog that goes on renewing what was given back.
//!
//! Where the release does not get through, the key is kept alive although nobody holds it, for as
//! long as the client lives (L2). To be caught by `progress` when a release is swallowed: the
//! sound one's key runs out.

use crate::Strategy;
use crate::renewal::Habits;
use crate::strategies::watchdog::{OPTIONS, watchdog};

pub(crate) const STRATEGY: Strategy = Strategy {
    name: "watchdog-outlives-unlock",
    summary: "mutant: a watchdog that renews the lock even after it was released",
    nodes: 1,
    replicas: 0,
    options: OPTIONS,
    build: |nodes, context| {
        let habits = Habits {
            ends_at_release: false,
            ..Habits::SOUND
        };
        Box::new(watchdog(nodes, context, habits))
    },
};
