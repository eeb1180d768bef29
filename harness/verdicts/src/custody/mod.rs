//! Custody: for each node and key, who wrote which value with what expiry, and how it went away.
//!
//! It is read from the `key-changed` events of a history, so from what the servers did. A lock's
//! own claims are no part of it. Histories without such events (`custody` is not in their header)
//! have no account, and what needs one is decided from the driver's events, or not at all.
//!
//! - [`KeyTable`] follows the events one by one, and knows what each key holds now.
//! - [`ValueSpan`] is the stay of one value: from the command that wrote it to its end.
//! - `node_clocks.rs` knows by how much each node's wall clock was shifted, and so when an expiry is
//!   over.
//! - [`NodesUsed`] knows which of its nodes a lock uses.
//! - [`Account`] has all this of a whole history.

mod account;
mod file;
mod key_table;
mod node_clocks;
mod nodes_used;
mod value_span;

pub use account::Account;
pub use file::{FORMAT, write_custody};
pub use key_table::{Holding, KeyTable, KeyUpdate};
pub use node_clocks::NodeClocks;
pub use nodes_used::NodesUsed;
pub use value_span::{SpanEnd, ValueSpan};
