//! Changes to the data and the settings of nodes, as an administrator could make them, and access to the Redis server
//! that holds the stock if the scenario keeps it in Redis.

use picklock_scenarios::Resource;

use super::Refusal;

/// A change of a node's data or settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DataChange {
    /// Deletes the keys of these locks, as eviction does: the keys with the locks' own names, and those that a lock
    /// wrote under a longer name.
    Evict(Vec<String>),
    /// Deletes all keys.
    FlushAll,
    /// Deletes all scripts.
    FlushScripts,
    /// Exhausts memory or connection slots. Each use must be undone by one `Replenish`.
    Exhaust(Resource),
    /// Undoes `Exhaust`. A node that restarted in the meantime already has its initial settings.
    Replenish(Resource),
}

/// Returns the keys of these locks without duplicates. `held` returns the keys that currently hold a lock.
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

/// Changes to the data and the settings of nodes.
pub trait Data {
    /// Changes a node's data or settings. Returns the number of keys that an eviction removed, or 0 for other changes.
    async fn change_data(&self, node: usize, change: &DataChange) -> Result<u64, Refusal>;
}

/// A Redis server separate from the nodes. Workers cannot reach it, and no fault affects it.
pub trait StockServer {
    /// Sends a command. Returns the reply as a number, or `None` if the reply is nil.
    async fn query_stock_server(&self, command: &[&str]) -> Result<Option<i64>, Refusal>;
}
