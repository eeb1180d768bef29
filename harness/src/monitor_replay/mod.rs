//! What servers tell of their keys, replayed on the model of Redis.
//!
//! A real server tells what it executes (`MONITOR`) and which keys expire (keyspace notifications), both
//! on one connection, in the order in which they happen. That is replayed, so that both backends have
//! the same changes of keys, and so the same key history. In the simulation each node keeps them itself.
//!
//! - `monitor_stream`: what a server tells, taken apart
//! - `server_report`: whose command each line is about
//! - `replay`: the servers of one node, replayed; `replayed_server` is one of them
//! - `written_changes`: which request made which changes
//! - `stored_key`: a key as a server has it, when it is read at once
//!
//! What MONITOR tells and does not tell: <https://redis.io/docs/latest/commands/monitor/>. Scripts are
//! not run again: their inner commands follow in lines of their own.

mod monitor_stream;
mod replay;
#[cfg(test)]
mod replay_tests;
mod replayed_server;
mod server_report;
mod stored_key;
mod written_changes;

#[cfg(feature = "servers")]
pub(crate) use monitor_stream::{MonitorStream, Told};
pub use replay::MonitorReplay;
pub use server_report::ServerReport;
pub use stored_key::{StoredKey, StoredValue};
