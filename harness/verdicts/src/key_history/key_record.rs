//! One change of one key of a node.

use std::sync::Arc;

use crate::history::{Event, EventKind, KeyChange, KeyName};

/// A key change with its time.
#[derive(Debug, Clone)]
pub struct KeyRecord {
    /// The time in nanoseconds, on the clock of the observer of the node.
    pub at_ns: u64,
    /// The key that changed.
    pub key: KeyName,
    /// The new value, or `None` if the key was removed.
    pub value: Option<Arc<str>>,
    /// The remaining time to live in milliseconds, on the node's clock, or `None` if the key never expires.
    pub ttl_ms: Option<i64>,
    /// The reason of the change.
    pub why: KeyChange,
}

impl KeyRecord {
    /// Converts the change to an event of a history, with this node and this time.
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
