//! One change of one key of a node.

use std::sync::Arc;

use crate::history::{Event, EventKind, KeyChange, KeyName};

/// A change, with its time.
#[derive(Debug, Clone)]
pub struct KeyRecord {
    /// When, in nanoseconds on the clock of whoever watches the node.
    pub at_ns: u64,
    /// Of which key.
    pub key: KeyName,
    /// What it holds from now on; `None`: it is gone.
    pub value: Option<Arc<str>>,
    /// How much longer it lives, by the node's clock; `None`: for ever.
    pub ttl_ms: Option<i64>,
    /// Why.
    pub why: KeyChange,
}

impl KeyRecord {
    /// The change as an event of a history, in which it happened on this node at this time.
    pub fn into_event(self, node: usize, at_ns: u64) -> Event {
        Event {
            at_ns,
            what: EventKind::KeyChanged {
                node,
                key: self.key,
                value: self.value,
                ttl_ms: self.ttl_ms,
                why: self.why,
            },
        }
    }
}
