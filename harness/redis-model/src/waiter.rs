//! Blocked clients as data: what each waits for, and until when.

use super::Now;
use super::session::ClientId;

/// What a client waits for.
#[derive(Debug, Clone)]
pub(super) enum Wait {
    /// The first element of the first of these lists that has one.
    Element { keys: Vec<Vec<u8>> },
    /// This many replicas that have this many of the changes.
    Replicas { wanted: i64, changes: u64 },
}

/// One blocked client.
#[derive(Debug, Clone)]
pub(super) struct Waiter {
    pub(super) client: ClientId,
    pub(super) database: usize,
    pub(super) wait: Wait,
    /// `None`: for ever.
    pub(super) until: Option<Now>,
}

impl Wait {
    /// True if an element of this key may end the wait.
    pub(super) fn takes_from(&self, key: &[u8]) -> bool {
        match self {
            Wait::Element { keys } => keys.iter().any(|other| other == key),
            Wait::Replicas { .. } => false,
        }
    }
}
