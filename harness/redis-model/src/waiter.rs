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
    /// Up to this many elements of the first of these lists that has one.
    PopMany {
        keys: Vec<Vec<u8>>,
        left: bool,
        count: usize,
    },
    /// Up to this many members of the first of these sorted sets that has one.
    PopManyScores {
        keys: Vec<Vec<u8>>,
        highest: bool,
        count: usize,
    },
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
            Wait::Pop { keys, .. }
            | Wait::PopScore { keys, .. }
            | Wait::PopMany { keys, .. }
            | Wait::PopManyScores { keys, .. } => keys.iter().any(|other| other == key),
            Wait::Move { from, .. } => from == key,
            Wait::Replicas { .. } => false,
        }
    }

    /// The same wait, restricted to this key.
    pub(super) fn on(&self, key: &[u8]) -> Wait {
        let mut wait = self.clone();
        match &mut wait {
            Wait::Pop { keys, .. }
            | Wait::PopScore { keys, .. }
            | Wait::PopMany { keys, .. }
            | Wait::PopManyScores { keys, .. } => *keys = vec![key.to_vec()],
            Wait::Move { .. } | Wait::Replicas { .. } => {}
        }
        wait
    }

    /// True if it waits for a sorted set. Other waits for keys are for lists.
    pub(super) fn is_for_sorted_set(&self) -> bool {
        matches!(self, Wait::PopScore { .. } | Wait::PopManyScores { .. })
    }
}
