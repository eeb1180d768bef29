//! Observations of the nodes' keys that bypass the links: which client wrote which value, how the value ended, and
//! which keys remain after the run.

use crate::history::{Event, KeyHistoryCheck};

/// The reason why a run has no key history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingKeyHistory {
    /// The reason for people.
    pub reason: String,
    /// Whether the servers reported their commands, but a part of the report is missing or could not be followed.
    /// Otherwise there was no report, or the report ended early.
    pub is_gap: bool,
}

impl MissingKeyHistory {
    /// Creates the reason for a gap in the servers' reports.
    pub fn gap(reason: String) -> Self {
        MissingKeyHistory {
            reason,
            is_gap: true,
        }
    }
}

impl From<String> for MissingKeyHistory {
    fn from(reason: String) -> Self {
        MissingKeyHistory {
            reason,
            is_gap: false,
        }
    }
}

/// Observes the servers' keys: the raw material of the key history. `key_history::attribute` determines whose changes
/// they are.
pub trait KeyObservation {
    /// Returns all changes of the nodes' keys so far, as events ordered by time.
    ///
    /// # Errors
    /// Returns an error with the reason if the run has no key history or the history is incomplete.
    async fn key_changes(&self) -> Result<Vec<Event>, MissingKeyHistory>;

    /// Returns how much of the result of [`KeyObservation::key_changes`] was confirmed by reading the servers' keys, or
    /// `None` if the keys were not read.
    async fn key_history_check(&self) -> Option<KeyHistoryCheck>;

    /// Returns, for each of these locks, the keys that currently hold it on a node, including keys that the lock wrote
    /// under other names. The result is empty if the run has no key history.
    async fn keys_of(&self, node: usize, locks: &[String]) -> Vec<Vec<String>>;
}

/// Queries to nodes that bypass the links.
pub trait Probe {
    /// Returns the remaining lifetime of a key on a node in milliseconds, or −1 if the key does not expire. Returns
    /// `None` if the key does not exist or the node does not answer.
    async fn key_ttl_ms(&self, node: usize, key: &str) -> Option<i64>;

    /// Returns why a node does not answer although no fault is active, or `None` if it answers. The default is for
    /// backends whose nodes never die without a fault.
    async fn why_lost(&self, _node: usize) -> Option<String> {
        None
    }
}
