//! The account of the nodes' keys: who wrote which value, and how it went away.
//!
//! In the simulation each node keeps it itself. A real server tells what it executes (`MONITOR`) and
//! which keys expire (keyspace notifications), both on one connection, in the order in which they
//! happen. That is replayed on the model of Redis, so that both backends have the same account:
//!
//! - `key_watch`: what the keys of one node hold, compared after each command
//! - `ends`: how many values have gone
//! - `lock_keys`: which of them hold a lock, and which change gave it a new owner
//! - `monitor_stream`: what a server tells, taken apart
//! - `server_report`: whose command each line is about
//! - `server_replay`: the servers of one node, replayed; `replayed_server` is one of them
//! - `written_changes`: which request made which changes
//! - `stored_key`: a key as a server has it, when it is read at once
//!
//! What MONITOR tells and does not tell: <https://redis.io/docs/latest/commands/monitor/>. Scripts are
//! not run again: their inner commands follow in lines of their own.

#[cfg(feature = "servers")]
mod ends;
mod key_record;
mod key_watch;
mod lock_keys;
mod monitor_stream;
#[cfg(test)]
mod replay_tests;
mod replayed_server;
mod server_replay;
mod server_report;
mod stored_key;
mod written_changes;

#[cfg(feature = "servers")]
pub(crate) use ends::ends_of;
pub use key_record::KeyRecord;
pub(crate) use key_watch::{KeyWatch, LookTime};
pub use monitor_stream::{MonitorLine, MonitorStream, Source, Told};
pub use server_replay::NodeReplay;
pub use server_report::{Senders, SentBy, ServerReport};
pub use stored_key::{StoredKey, StoredValue};
