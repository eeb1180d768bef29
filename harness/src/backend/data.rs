//! The data and the settings of nodes, changed as an administrator could; and the Redis server that keeps the stock, in
//! runs whose scenario keeps it in Redis.

use picklock_scenarios::Resource;

use super::Refusal;

/// A change of a node's data or settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DataChange {
    /// Deletes the keys of these locks, as eviction does: those of their names, and those that the
    /// lock has written under a longer name.
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

/// The keys of these locks. `held`: the keys that hold a lock now.
pub(crate) fn keys_to_evict(locks: &[String], held: impl Fn(&str) -> Vec<String>) -> Vec<String> {
    let mut keys = Vec::new();
    for lock in locks {
        for key in std::iter::once(lock.clone()).chain(held(lock)) {
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
    }
    keys
}

/// Changing the data and the settings of nodes.
pub trait Data {
    /// Changes a node's data or settings; returns when it is done, with the number of keys that
    /// an eviction removed (otherwise 0).
    async fn change_data(&self, node: usize, change: &DataChange) -> Result<u64, Refusal>;
}

/// A Redis server beside the nodes. No worker reaches it, and no fault strikes it.
pub trait StockServer {
    /// Sends it a command. Returns its answer as a number; `None`: nil.
    async fn ask_stock_server(&self, command: &[&str]) -> Result<Option<i64>, Refusal>;
}
