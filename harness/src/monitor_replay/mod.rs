//! Replays the servers' reports about their keys on the model of Redis.
//!
//! A real server reports the commands that it executes (`MONITOR`) and the keys that expire (keyspace
//! notifications), both on one connection, in the order in which they happen. These reports are replayed, so that
//! real servers yield the same key changes as the simulation, and so the same key history. Simulated nodes record
//! the changes directly.
//!
//! - `monitor_stream`: parses a server's reports
//! - `server_report`: finds the worker and the request behind each line
//! - `replay`: the replayed servers of one node; `replayed_server` is one of them
//! - `written_changes`: records which request made which changes
//! - `unknown_commands`: the commands that the model does not support, with the keys that they name
//! - `stored_key`: a key as it is read directly from a server
//!
//! For the contents of MONITOR's output, see <https://redis.io/docs/latest/commands/monitor/>. Scripts are not
//! executed again, because their inner commands follow as separate lines.

mod monitor_stream;
mod replay;
#[cfg(test)]
mod replay_tests;
mod replayed_server;
mod server_report;
mod stored_key;
mod unknown_commands;
mod written_changes;

#[cfg(feature = "servers")]
pub(crate) use monitor_stream::{MonitorStream, ServerMessage};
pub use replay::MonitorReplay;
pub use server_report::ServerReport;
pub use stored_key::{StoredKey, StoredValue};
