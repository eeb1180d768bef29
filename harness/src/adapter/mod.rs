//! The adapter protocol, from both ends: the driver's and the built-in worker's.
//!
//! - [`message`]: what is said
//! - [`lines`]: how it is cut into lines, with a limit
//! - [`mailbox`]: how it goes from task to task where no process is between them
//! - [`process`]: the driver's end, a worker process to talk to
//! - [`control`]: power over it: freeze, thaw, kill
//! - [`command_line`]: which program that is, for `exec:` subjects
//! - [`serve`]: the worker's end, for built-in subjects
//! - [`connect`]: the worker's way to real Redis nodes

pub mod command_line;
pub mod connect;
pub mod control;
mod draft;
mod exit;
pub mod lines;
pub mod mailbox;
pub mod message;
pub mod process;
mod process_error;
mod process_group;
mod reconnecting;
pub mod serve;
