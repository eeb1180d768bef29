//! The locks against real Redis servers, and against scripted ones that misbehave.

#![expect(
    clippy::unwrap_used,
    reason = "these are tests; clippy only knows functions marked as such"
)]

mod client;
mod recording;
mod redis_server;
mod scripted;

mod cancelled;
mod commands;
mod contract;
mod errors;
mod lease_duration;
mod mutant_commands;
mod mutants;
mod redlock;
mod renewing;
mod waiting;
