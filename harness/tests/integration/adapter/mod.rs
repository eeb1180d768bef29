//! The adapter protocol from both ends: real processes, real Redis servers, and the document that describes it.

#[path = "../../../../impls/tests/integration/redis_server.rs"]
pub mod redis_server;

mod connect;
mod document;
mod ended_client;
mod process;
mod serve;
mod shapes;
mod shared_process;
pub mod talk;
