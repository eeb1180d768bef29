//! Key history: for each node and key, which client wrote which value with which expiry, and how the value ended.
//!
//! It is built from the `key-changed` events of a history, that is, from what the servers did, and never from what a
//! lock claims. A history without such events (its header does not set `key_history`) has no key history; the checkers
//! then decide from the driver's events, or not at all.
//!
//! Verdicts, stories, charts and the harness during a run all use this module to find out which client owned a value,
//! until when the value existed, and how it ended. [`KeyHistory`] is the key history of a whole history.

mod attribution;
mod elements;
mod expiry;
mod file;
mod from_history;
mod key_record;
mod key_table;
mod lock_keys;
mod node_clocks;
mod nodes_used;
mod other_attempts;
mod permit_stores;
mod permits;
mod shared_connections;
mod value_span;

pub use attribution::attribute;
pub use elements::{adds_element, is_collection, is_of_several, is_rest, shares_element};
pub use expiry::Expiry;
pub use file::{FORMAT, write_key_history};
pub use from_history::KeyHistory;
pub use key_record::KeyRecord;
pub use key_table::{KeyTable, KeyUpdate, StoredValue, ended_values};
pub use lock_keys::{Locks, is_acquired, lock_keys, lock_of_key, may_be_lock_value, takes_lock};
pub use node_clocks::NodeClocks;
pub use nodes_used::NodesUsed;
pub use shared_connections::UnnamedClient;
pub use value_span::{Fate, Renewal, SpanEnd, ValueSpan};
