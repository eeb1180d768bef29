//! What is seen of the nodes' keys, past the links: who wrote which value, how it went away, and what is left after the
//! run.

use crate::history::{Event, KeyHistoryCheck};

/// What the servers saw.
pub trait KeyHistory {
    /// Every change of the nodes' keys so far, as events in the order of time.
    ///
    /// # Errors
    /// There is no key history in this run, or it is not complete: why, in words.
    async fn key_changes(&self) -> Result<Vec<Event>, String>;

    /// What a look at the servers' keys has confirmed of the changes that [`KeyHistory::key_changes`] has
    /// given; `None`: nobody has looked.
    async fn key_history_check(&self) -> Option<KeyHistoryCheck>;

    /// For each of these locks, the names of the keys that hold it on a node now: its own, and those
    /// that it has written under other names. Without key history none.
    async fn keys_of(&self, node: usize, locks: &[String]) -> Vec<Vec<String>>;
}

/// Looking at nodes, past the links.
pub trait Probe {
    /// Remaining life of a key on a node, milliseconds; −1 without expiry; `None`: no such key, or
    /// the node does not answer.
    async fn key_ttl_ms(&self, node: usize, key: &str) -> Option<i64>;

    /// Why a node does not answer, although no fault is on; `None`: it does. A backend whose nodes
    /// cannot die by themselves need not look.
    async fn why_lost(&self, _node: usize) -> Option<String> {
        None
    }
}
