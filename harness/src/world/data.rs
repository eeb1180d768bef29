//! The data and the settings of nodes, changed as an administrator could.

use std::future::Future;

use picklock_scenarios::Resource;

use super::Refusal;

/// A change of a node's data or settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DataChange {
    /// Deletes these keys, as eviction does.
    Evict(Vec<String>),
    /// Deletes all keys.
    FlushAll,
    /// Deletes all scripts.
    FlushScripts,
    /// Takes away memory, or room for new connections. Done twice, it must be undone twice.
    Exhaust(Resource),
    /// Gives back what `Exhaust` has taken. A node that was restarted since has it already.
    Replenish(Resource),
}

/// Changing the data and the settings of nodes.
pub trait Data {
    /// Changes a node's data or settings; returns when it is done, with the number of keys that
    /// an eviction removed (otherwise 0).
    fn change_data(
        &self,
        node: usize,
        change: &DataChange,
    ) -> impl Future<Output = Result<u64, Refusal>>;
}
