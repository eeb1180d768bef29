//! The account of the nodes' keys: who wrote which value, and how it went away.
//!
//! In the simulation each node keeps it itself. A real server tells what it executes (`MONITOR`) and
//! which keys expire (keyspace notifications), both on one connection, in the order in which they
//! happen. That is replayed on the model of Redis, so that both worlds have the same account:
//!
//! - `key_watch`: what the keys of one node hold, compared after each command
//! - `monitor_stream`: what a server tells, taken apart
//! - `server_replay`: the servers of one node, replayed
//!
//! What MONITOR tells and does not tell: <https://redis.io/docs/latest/commands/monitor/>. Scripts are
//! not run again: their inner commands follow in lines of their own.

mod key_watch;
mod monitor_stream;
mod server_replay;

pub(crate) use key_watch::{KeyRecord, KeyWatch, LookTime};
pub use monitor_stream::{MonitorLine, MonitorStream, Source, Told};
pub use server_replay::{NodeReplay, StoredKey, StoredValue};
