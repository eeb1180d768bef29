//! Scenarios whose figures say what a lock costs.

use serde::{Deserialize, Serialize};

/// Which cost of a lock a scenario measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// To acquire while nothing goes wrong and the lock is mostly free.
    Healthy,
    /// To acquire while many clients want one lock.
    Contended,
    /// To acquire around a failover that loses nothing.
    Failover,
    /// How many requests are granted while a minority of the nodes is out of reach.
    Minority,
}
