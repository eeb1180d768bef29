//! The model of Redis beside real servers.
//!
//! - [`differential`]: random transcripts, every reply equal; needs `redis-server`
//! - [`regressions`]: every difference that was ever found; needs `redis-server`
//! - [`libraries`]: what scripts call in Lua, edge by edge, on the model and on each real server
//! - [`replay`]: effects make a replica the same, and the same calls give the same replies
//! - [`waits`]: WAIT, on a real master with a real replica
//! - [`grammar`], [`transcript`]: what random transcripts are made of
//! - [`real_redis`]: a real server, and a client that shows its raw replies

mod differential;
mod grammar;
mod libraries;
mod real_redis;
mod regressions;
mod replay;
mod transcript;
mod waits;
