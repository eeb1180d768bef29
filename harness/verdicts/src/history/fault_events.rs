//! Details of fault events: belated changes, clock shifts, and why a fault missed.

use picklock_scenarios::StockFault;
use serde::{Deserialize, Serialize};

/// Details of a stock change that was applied later than its writer requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Belated {
    /// The fault that delayed the change.
    pub by: StockFault,
    /// When the writer requested the change, or when the writer's section failed, in nanoseconds since the run began.
    pub requested_at_ns: u64,
}

/// The shift that a fault applies to wall clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockShift {
    /// The shift in nanoseconds: positive if forward, negative if back. Shifts of one clock add up.
    pub by_ns: i64,
    /// Whether the shift is permanent. The end of such a fault only means that it has been applied.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub for_good: bool,
}

/// Why a planned fault did not fire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MissedBecause {
    /// The Sentinels should have failed over, but did not. A Sentinel writes its configuration file to disk before it
    /// continues, so a busy disk can delay it for seconds.
    NoFailover,
    /// The backend does not support the fault.
    Unable,
}
