//! The schedule of a job that is meant to run once per tick.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::lease_duration::LeaseDuration;
use crate::string_enum::is_default;

/// The ticks of a job. Every client gets every tick, by its own clock.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Schedule {
    /// Time between two ticks. The first tick comes one interval after the beginning of the run.
    pub interval: LeaseDuration,
    /// Number of ticks.
    pub ticks: u32,
    /// Delay with which the last client gets each tick, compared with the first client, because their clocks differ.
    /// The delays of the other clients are evenly spread between the two.
    pub clock_shift: LeaseDuration,
    /// Treatment of a tick that comes while an earlier job is still running.
    #[serde(skip_serializing_if = "is_default")]
    pub missed: MissedTicks,
}

/// Treatment of a tick at which no client could begin the job.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MissedTicks {
    /// The tick is left out. A client runs the job of its current tick, whatever ran before.
    #[default]
    Skip,
    /// The tick is made up for. A client that gets the lock looks up in a ledger which ticks have run, and runs the
    /// oldest tick that has not.
    CatchUp,
}

impl Default for Schedule {
    fn default() -> Self {
        Schedule {
            interval: LeaseDuration::Ttl(2.0),
            ticks: 4,
            clock_shift: LeaseDuration::ZERO,
            missed: MissedTicks::Skip,
        }
    }
}

impl Schedule {
    /// Returns when the last client gets the last tick, with leases of `ttl`.
    pub fn end(&self, ttl: Duration) -> Duration {
        let ticks = self.interval.resolve(ttl).saturating_mul(self.ticks);
        ticks.saturating_add(self.clock_shift.resolve(ttl))
    }
}
