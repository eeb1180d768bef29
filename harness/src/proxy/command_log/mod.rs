//! The command log, and facts that are derived from the logged commands: which command took a lock, and how long
//! workers sent no command.
//!
//! - the log: `log`, whose lines are `log_record` while the run lasts, and `log_entry` in the file
//! - requests and their replies: `current_operation` names the attempt, `pending` matches a reply to its request,
//!   `answered` decides whether the command was executed, and `sent_requests` waits for the server's own report of it
//! - derived facts: `acquire_detection`, `acquire_traffic`, `last_commands`

pub(super) mod acquire_detection;
pub(super) mod acquire_traffic;
pub(super) mod answered;
pub(super) mod current_operation;
pub(super) mod last_commands;
pub(super) mod log;
pub(super) mod log_entry;
pub(super) mod log_record;
pub(super) mod pending;
pub(super) mod sent_requests;
