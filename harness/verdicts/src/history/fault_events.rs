//! What faults did, where their events say more than that they struck.

use picklock_scenarios::StockFault;
use serde::{Deserialize, Serialize};

/// A change of the stock that was not made when its writer asked for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Belated {
    /// The fault that kept it back.
    pub by: StockFault,
    /// When its writer asked for it, or its section failed: nanoseconds since the run began.
    pub requested_at_ns: u64,
}

/// By how much a fault sets wall clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockShift {
    /// Forward, in nanoseconds; negative: back. Shifts of one clock add up.
    pub by_ns: i64,
    /// True if the shift is never undone: the end of the fault only means that it has struck.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub for_good: bool,
}

/// Why a planned fault did not strike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MissedBecause {
    /// The failover was left to Sentinels, and none came. A Sentinel writes its file to the disk before it goes
    /// on, so that a busy disk holds it up for seconds.
    NoFailover,
    /// The backend cannot do it.
    Unable,
}
