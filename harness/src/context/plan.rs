//! The numbers of a run.

use std::collections::BTreeMap;
use std::time::Duration;

use picklock_scenarios::Scenario;

use crate::model::ServerVersion;

/// The shortest time that matters where the machine was late, as a fraction of the lease: as long as Redlock
/// waits for a node.
pub const PART_OF_LEASE: u32 = 10;

/// The run's numbers, resolved from the scenario.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The scenario.
    pub scenario: Scenario,
    /// Lease time.
    pub ttl: Duration,
    /// Independent nodes.
    pub nodes: usize,
    /// How many of them the lock needs; `None`: a majority.
    pub quorum: Option<usize>,
    /// Names of the locks' keys.
    pub keys: Vec<String>,
    /// Which server a simulation models.
    pub model: ServerVersion,
    /// Seed of the run.
    pub seed: u64,
    /// The options of the lock, from `--impl-option`.
    pub options: BTreeMap<String, String>,
}

impl Plan {
    /// Lease time in milliseconds.
    pub fn ttl_ms(&self) -> u64 {
        millis(self.ttl)
    }

    /// How long a client's command waits for an answer before it fails.
    pub fn command_timeout(&self) -> Duration {
        self.scenario.workload.command_timeout.resolve(self.ttl)
    }

    /// The longest time that the plan's own faults may keep a worker from answering.
    pub fn longest_fault(&self) -> Duration {
        let spans = self
            .scenario
            .faults
            .iter()
            .filter_map(|fault| fault.duration);
        spans.map(|span| span.resolve(self.ttl)).sum()
    }
}

/// Whole milliseconds of a duration.
pub fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
