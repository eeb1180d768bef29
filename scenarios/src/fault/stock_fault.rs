use serde::{Deserialize, Serialize};

use crate::cause::Cause;

/// What can be wrong with accesses to the stock, whatever the lock does. They are faults of the resource or of the
/// application, and a right lock does not prevent them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StockFault {
    /// A write is under way for long, and its client gives up waiting for the answer.
    LateWrite,
    /// A change is visible only after the lock has been released.
    LateCommit,
    /// A section that has failed, or has lost its lock, writes all the same.
    UncheckedWrite,
    /// A reading shows what there was some time ago.
    StaleRead,
}

impl StockFault {
    /// The cause of a violation that rests on it.
    pub fn cause(self) -> Cause {
        match self {
            StockFault::LateWrite => Cause::LateWrite,
            StockFault::LateCommit => Cause::ReleasedBeforeCommit,
            StockFault::UncheckedWrite => Cause::UncheckedWrite,
            StockFault::StaleRead => Cause::StaleRead,
        }
    }
}
