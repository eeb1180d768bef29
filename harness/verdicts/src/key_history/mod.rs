//! Key history: for each node and key, who wrote which value with what expiry, and how it went away.
//!
//! It is read from the `key-changed` events of a history, so from what the servers did. A lock's
//! own claims are no part of it. Histories without such events (`key_history` is not in their header)
//! have no key history, and what needs one is decided from the driver's events, or not at all.
//!
//! Everybody who asks whose a value was, until when, and how it went away, asks here: verdicts, stories,
//! pictures, and the harness while a run goes on. [`KeyHistory`] has all this of a whole history.

mod expiry;
mod file;
mod from_history;
mod key_record;
mod key_table;
mod lock_keys;
mod node_clocks;
mod nodes_used;
mod shared_connections;
mod value_span;

pub use expiry::Expiry;
pub use file::{FORMAT, write_key_history};
pub use from_history::KeyHistory;
pub use key_record::KeyRecord;
pub use key_table::{Holding, KeyTable, KeyUpdate, ended_values};
pub use lock_keys::{Locks, is_acquired, lock_keys, lock_of_key, may_be_lock_value, takes_lock};
pub use node_clocks::NodeClocks;
pub use nodes_used::NodesUsed;
pub use shared_connections::{UnnamedClient, name_clients};
pub use value_span::{Fate, Renewal, SpanEnd, ValueSpan};
