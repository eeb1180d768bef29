//! Compares the Redis model with real servers.
//!
//! - [`differential`]: random transcripts, in which every reply must be equal; needs `redis-server`
//! - [`regressions`]: every difference found so far; needs `redis-server`
//! - [`libraries`]: edge cases of the Lua libraries, on the model and on each real server
//! - [`replay`]: effects reproduce the state on a replica, and equal calls give equal replies
//! - [`waits`]: WAIT on a real master with a real replica
//! - [`grammar`], [`transcript`]: the building blocks of random transcripts
//! - [`real_redis`]: a real server, and a client that returns raw replies

mod differential;
mod grammar;
mod libraries;
mod real_redis;
mod regressions;
mod replay;
mod transcript;
mod waits;
