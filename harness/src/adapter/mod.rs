//! The adapter protocol: the driver's end, and the worker's end for built-in locks.
//!
//! - the protocol: `message`, `message_shape`, `protocol_fault`, with `line_reader` for lines from untrusted programs
//! - the driver's end: `command_line` and `worker_command` define how a worker starts, `process` and `shared_process`
//!   exchange messages with it, and `capped_log` keeps its standard error
//! - processes: `control` freezes and kills, on top of `reap_guard` and `process_group`; `exit` describes their end,
//!   and `process_error` has the errors
//! - the worker's end: `serve`, `served_clients`, `served_lock`, `termination`
//! - its connections to Redis: `connect`, `reconnecting`, `redirecting`, `subscription`
//! - `local_channel`: a channel between tasks of one thread, for both ends

pub(crate) mod capped_log;
pub mod command_line;
#[cfg(feature = "servers")]
pub mod connect;
pub mod control;
pub(crate) mod exit;
pub mod line_reader;
pub mod local_channel;
pub mod message;
pub mod message_shape;
pub mod process;
mod process_error;
mod process_group;
pub mod protocol_fault;
mod reap_guard;
#[cfg(feature = "servers")]
mod reconnecting;
#[cfg(feature = "servers")]
mod redirecting;
pub mod serve;
mod served_clients;
mod served_lock;
#[cfg(feature = "servers")]
pub mod shared_process;
#[cfg(feature = "servers")]
mod subscription;
pub mod termination;
pub mod worker_command;
