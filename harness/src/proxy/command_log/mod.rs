//! The command log, and facts that are derived from the logged commands: which command took a lock, which keys a lock
//! derives, and how long workers sent no command.
//!
//! - the log: `log`, whose lines are `log_record` while the run lasts, and `log_entry` in the file
//! - requests and their replies: `operation` names the attempt, `pending` matches a reply to its request, `answered`
//!   decides whether the command was executed, and `sent_requests` waits for the server's own report of it
//! - derived facts: `acquire_detection`, `derived_keys`, `acquire_traffic`, `last_commands`

pub(super) mod acquire_detection;
pub(super) mod acquire_traffic;
pub(super) mod answered;
pub(super) mod derived_keys;
pub(super) mod last_commands;
pub(super) mod log;
pub(super) mod log_entry;
pub(super) mod log_record;
pub(super) mod operation;
pub(super) mod pending;
pub(super) mod sent_requests;
