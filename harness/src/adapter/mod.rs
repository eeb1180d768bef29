//! The adapter protocol: the driver's end and the built-in worker's end.
//!
//! - [`message`]: requests, answers and events
//! - [`message_shape`]: the fields of each message, as data
//! - [`protocol_fault`]: what an adapter can do wrong, each with its words
//! - [`line_reader`]: one message a line, with a limit on its length
//! - [`local_channel`]: messages between tasks, if the worker is not a process
//! - [`process`]: the driver's end of a worker process
//! - [`control`]: freezes, thaws and kills it with all its descendants
//! - [`command_line`]: its command line, for `exec:` locks
//! - [`worker_command`]: that with its working directory and its environment
//! - [`serve`]: the worker's end, for built-in locks
//! - [`connect`]: the worker's connections to real Redis nodes

mod capped_log;
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
#[cfg(feature = "servers")]
mod subscription;
pub mod worker_command;
