//! The adapter protocol from both ends: real processes, real Redis servers, and the document that
//! describes it.

#![expect(
    clippy::unwrap_used,
    reason = "these are tests; clippy only knows functions marked as such"
)]

#[path = "../../../impls/tests/it/redis_server.rs"]
mod redis_server;

mod connect;
mod document;
mod process;
mod serve;
mod talk;
