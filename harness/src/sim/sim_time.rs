//! The two clocks of a simulation.

use crate::account::KeyRecord;
use crate::history::{Event, EventKind};

/// The present on the two clocks of a simulation.
#[derive(Debug, Clone, Copy)]
pub(super) struct SimTime {
    /// Of the simulation's own clock, which is never set to zero, nanoseconds.
    pub(super) sim_ns: u64,
    /// Of the run's clock, nanoseconds.
    pub(super) run_ns: u64,
}

impl SimTime {
    /// A time of the simulation in nanoseconds since the run began.
    pub(super) fn run_ns(self, sim_ns: u64) -> u64 {
        self.run_ns
            .saturating_sub(self.sim_ns.saturating_sub(sim_ns))
    }

    /// A change of a node's keys as an event of the run's history.
    pub(super) fn key_changed(self, node: usize, record: KeyRecord) -> Event {
        Event {
            at_ns: self.run_ns(record.at_ns),
            what: EventKind::KeyChanged {
                node,
                key: record.key,
                value: record.value,
                ttl_ms: record.ttl_ms,
                why: record.why,
            },
        }
    }
}
