//! The adapter protocol: the driver's end, and the worker's end for built-in locks.

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
