//! The custody of a whole history.

use std::collections::HashSet;

use picklock_scenarios::Phase;

use crate::history::{History, KeyName};
use crate::timeline::AttemptTracker;

use super::key_table::KeyTable;
use super::nodes_used::NodesUsed;
use super::value_span::{SpanReader, ValueSpan};

/// What the keys of all nodes held, and which nodes the locks use.
#[derive(Debug, Clone)]
pub struct Custody {
    /// All values of all keys, in the order in which they were written.
    pub spans: Vec<ValueSpan>,
    /// Which nodes each lock uses.
    pub nodes: NodesUsed,
}

impl Custody {
    /// The custody of this history. Empty if the history has none.
    pub fn of(history: &History) -> Self {
        let mut spans = SpanReader::default();
        let mut nodes = NodesUsed::new(history.header.nodes);
        let mut table = KeyTable::default();
        let mut tracker = AttemptTracker::new(history.header.workers);
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
        Custody {
            spans: spans.close(end_ns),
            nodes,
        }
    }
    /// The keys that attempts to take this lock have written. Where there are some that no other lock
    /// writes, they are the lock's, and not the heartbeat that all locks share. `lock_of`: the lock
    /// that an attempt was for.
    pub fn keys_of(&self, lock: u32, lock_of: impl Fn(u64) -> Option<u32>) -> HashSet<KeyName> {
        let mut own = HashSet::new();
        let mut others = HashSet::new();
        for span in self.spans.iter().filter(|span| span.may_be_a_claim()) {
            let author = span.author.as_ref();
            let author = author.filter(|by| by.phase == Phase::Acquire);
            match author.and_then(|by| lock_of(by.op)) {
                Some(of) if of == lock => own.insert(span.key.clone()),
                Some(_) => others.insert(span.key.clone()),
                None => continue,
            };
        }
        if own.iter().any(|key| !others.contains(key)) {
            own.retain(|key| !others.contains(key));
        }
        own.insert(KeyName::Lock(lock));
        own
    }
}
