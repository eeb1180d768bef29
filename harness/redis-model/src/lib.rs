//! A deterministic model of one Redis server, in memory, for the simulation.
//!
//! The model has no sockets, files, tasks or clock: time is a parameter of [`Server::execute`]. `docs/redis-model.md`
//! lists what is not modelled. `lab/tests/model/differential.rs` compares the model with a real server.
//!
//! - [`Server`]: connections, commands, snapshots, effects
//! - [`CommandKind`]: the effect of each command on keys, as data
//! - `command`, `dispatch`: the look-up of a command, its checks and its execution
//! - `commands`: one file for each family
//! - `values`, `keyspace`, `state`: the stored data
//! - `lua`: scripts, on the Lua version that Redis itself embeds
//! - [`Reply`]: a reply, as data, as bytes and as the `redis` crate's value

mod blocking;
mod command;
mod command_facts;
mod commands;
mod context;
mod dispatch;
mod effect;
mod glob;
mod key_watch;
mod keyspace;
mod lua;
mod now;
mod number;
mod reply;
mod report;
mod resp;
mod server;
mod session;
mod state;
mod values;
mod version;
mod waiter;

pub use command_facts::{CommandKind, is_greeting, is_queued};
pub use effect::Effect;
pub use key_watch::{HeldValue, Touched, TouchedKeys};
pub use keyspace::Keyspace;
pub use now::Now;
pub use reply::Reply;
pub use server::Server;
pub use session::ClientId;
pub use version::ServerVersion;
