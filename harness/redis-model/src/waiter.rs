//! Blocked clients, with the condition for which each of them waits and the end of the wait.

use super::Now;
use super::session::ClientId;

/// The condition for which a client waits.
#[derive(Debug, Clone)]
pub(super) enum Wait {
    /// An element in one of these lists. It is taken from the first list that is not empty.
    Element { keys: Vec<Vec<u8>> },
    /// At least `wanted` replicas that have received `changes` changes.
    Replicas { wanted: i64, changes: u64 },
}

/// One blocked client.
#[derive(Debug, Clone)]
pub(super) struct Waiter {
    pub(super) client: ClientId,
    pub(super) database: usize,
    pub(super) wait: Wait,
    /// End of the wait, or `None` if it is unlimited.
    pub(super) until: Option<Now>,
}

impl Wait {
    /// Returns `true` if an element of this key may end the wait.
    pub(super) fn takes_from(&self, key: &[u8]) -> bool {
        match self {
            Wait::Element { keys } => keys.iter().any(|other| other == key),
            Wait::Replicas { .. } => false,
        }
    }
}
