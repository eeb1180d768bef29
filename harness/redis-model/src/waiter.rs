//! Blocked clients as data: what each waits for, and until when.

use super::Now;
use super::session::ClientId;

/// What a client waits for.
#[derive(Debug, Clone)]
pub(super) enum Wait {
    /// An element of the first of these lists that has one.
    Pop { keys: Vec<Vec<u8>>, left: bool },
    /// The first or the last member of the first of these sorted sets that has one.
    PopScore { keys: Vec<Vec<u8>>, highest: bool },
    /// An element to move to another list.
    Move {
        from: Vec<u8>,
        to: Vec<u8>,
        from_left: bool,
        to_left: bool,
    },
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
            Wait::Pop { keys, .. } | Wait::PopScore { keys, .. } => {
                keys.iter().any(|other| other == key)
            }
            Wait::Move { from, .. } => from == key,
            Wait::Replicas { .. } => false,
        }
    }

    /// The same wait, restricted to this key.
    pub(super) fn on(&self, key: &[u8]) -> Wait {
        match self {
            Wait::Pop { left, .. } => Wait::Pop {
                keys: vec![key.to_vec()],
                left: *left,
            },
            Wait::PopScore { highest, .. } => Wait::PopScore {
                keys: vec![key.to_vec()],
                highest: *highest,
            },
            Wait::Move { .. } | Wait::Replicas { .. } => self.clone(),
        }
    }
}
