//! The account of a whole history.

use crate::history::History;
use crate::timeline::AttemptTracker;

use super::key_table::KeyTable;
use super::nodes_used::NodesUsed;
use super::value_span::{SpanReader, ValueSpan};

/// What the keys of all nodes held, and which nodes the locks use.
#[derive(Debug, Clone)]
pub struct Account {
    /// All values of all keys, in the order in which they were written.
    pub spans: Vec<ValueSpan>,
    /// Which nodes each lock uses.
    pub nodes: NodesUsed,
}

impl Account {
    /// The account of this history. Empty if the history has none.
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
        Account {
            spans: spans.close(end_ns),
            nodes,
        }
    }
}
