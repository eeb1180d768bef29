//! Faults of the resource instead of Redis or a client.

use serde::{Deserialize, Serialize};

use crate::cause::Cause;

/// Faults of accesses to the stock. They are faults of the resource or the application, and a correct lock cannot
/// prevent them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StockFault {
    /// A write is in transit for a long time, and its client stops waiting for the answer.
    LateWrite,
    /// A change becomes visible only after the lock has been released.
    LateCommit,
    /// A section that has failed, or has lost its lock, still writes.
    UncheckedWrite,
    /// A read returns an outdated state.
    StaleRead,
}

impl StockFault {
    /// Returns the cause of a violation by this fault.
    pub fn cause(self) -> Cause {
        match self {
            StockFault::LateWrite => Cause::LateWrite,
            StockFault::LateCommit => Cause::ReleasedBeforeCommit,
            StockFault::UncheckedWrite => Cause::UncheckedWrite,
            StockFault::StaleRead => Cause::StaleRead,
        }
    }
}
