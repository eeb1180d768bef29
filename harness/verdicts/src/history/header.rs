//! The first line of a history: what a checker must know besides the events.

use picklock_scenarios::{BackendName, Update};
use serde::{Deserialize, Serialize};

/// Format and version of a history file; the `format` key of its first line.
pub const FORMAT: &str = "picklock-history/1";

/// What a checker must know besides the events.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// Always [`FORMAT`].
    pub format: String,
    /// Name of the scenario.
    pub scenario: String,
    /// Name of the lock.
    pub lock: String,
    /// Name of the backend.
    pub backend: BackendName,
    /// Seed of the run.
    pub seed: u64,
    /// How many workers.
    pub workers: usize,
    /// How many independent nodes.
    pub nodes: usize,
    /// How many of them the lock needs. Left out: a majority.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quorum: Option<usize>,
    /// Names of the locks' keys; events call them by position.
    pub keys: Vec<String>,
    /// Lease time, milliseconds.
    pub ttl_ms: u64,
    /// Units in stock at the start, for each key.
    pub stock_start: i64,
    /// How a sale changes the stock.
    pub update: Update,
    /// With fewer grants than this, the run is not judged.
    pub min_grants: u64,
    /// Bound on progress, milliseconds.
    pub progress_within_ms: u64,
    /// True if the lock promises to renew its lease while its client works.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub renews: bool,
    /// True if every change of the nodes' keys is in the history.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub key_history: bool,
    /// What a look at the servers' keys has confirmed of that in the end. Left out: nobody looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_history_check: Option<KeyHistoryCheck>,
}

impl Header {
    /// `what`, with the name of this lock where there are several.
    pub(crate) fn named(&self, key: u32, what: &str) -> String {
        match self.keys.get(key as usize) {
            Some(name) if self.keys.len() > 1 => format!("{what} `{name}`"),
            _ => what.to_owned(),
        }
    }
}

/// How many values the account says have gone, and how many of those a look at their keys has confirmed:
/// the server had what the account says, and that was not the value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyHistoryCheck {
    /// Values that have gone.
    pub ends: u64,
    /// Those that were looked for. The keys of a server that did not answer were not looked at.
    pub confirmed: u64,
}
