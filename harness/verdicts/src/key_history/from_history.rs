//! The key history of a complete history.

use std::collections::HashSet;

use picklock_scenarios::Phase;

use crate::history::{History, KeyName};
use crate::timeline::AttemptTracker;

use super::key_table::KeyTable;
use super::lock_keys::own_keys;
use super::nodes_used::NodesUsed;
use super::value_span::{SpanReader, ValueSpan};

/// The values of all keys on all nodes, and the nodes that the locks use.
#[derive(Debug, Clone)]
pub struct KeyHistory {
    /// All values of all keys, in the order in which they were written.
    pub spans: Vec<ValueSpan>,
    /// The nodes that each lock uses.
    pub nodes: NodesUsed,
}

impl KeyHistory {
    /// Builds the key history of a history. It is empty if the history contains no key changes.
    pub fn from_history(history: &History) -> Self {
        let mut spans = SpanReader::default();
        let mut nodes = NodesUsed::new(history.header.nodes);
        let mut table = KeyTable::default();
        let mut tracker = AttemptTracker::new(&history.header);
        let mut end_ns = 0;
        for event in &history.events {
            end_ns = event.at_ns;
            tracker.event(event, |attempt, step| nodes.step(attempt, step));
            spans.clocks.event(event);
            table.event(event, |update| {
                nodes.key_changed(&update);
                spans.update(event.at_ns, update);
            });
        }
        KeyHistory {
            spans: spans.close(end_ns),
            nodes,
        }
    }

    /// Returns the keys that attempts to acquire this lock have written, and the key with its name. `lock_of` returns
    /// the lock of an attempt.
    pub fn keys_of(&self, lock: u32, lock_of: impl Fn(u64) -> Option<u32>) -> HashSet<KeyName> {
        let claims = self.spans.iter().filter(|span| span.may_be_lock_value());
        let written = claims.filter_map(|span| {
            let author = span.author.as_ref();
            let author = author.filter(|by| by.phase == Phase::Acquire)?;
            Some((&span.key, lock_of(author.op)?))
        });
        let own = own_keys(written, lock).into_iter().cloned();
        own.chain([KeyName::Lock(lock)]).collect()
    }
}
