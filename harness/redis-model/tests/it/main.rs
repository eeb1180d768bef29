//! The model of Redis, beside a real `redis-server` and by itself.
//!
//! - [`differential`]: random transcripts, every reply equal; needs `redis-server`
//! - [`regressions`]: every difference that was ever found; needs `redis-server`
//! - [`large_scripts`]: scripts with very many values, on the model alone
//! - [`libraries`]: what scripts call in Lua, edge by edge, on the model and on each real server
//! - [`replay`]: effects make a replica the same, and the same calls give the same replies
//! - [`scripts`]: scripts that run without Lua give what they give with it
//! - [`server`]: what no server of version 7.0 could show
//! - [`versions`]: what each version says that Redis 7.0 says in another way
//! - [`grammar`], [`transcript`]: what random transcripts are made of
//! - [`real_redis`]: a real server, and a client that shows its raw replies

mod differential;
mod grammar;
mod large_scripts;
mod libraries;
mod real_redis;
mod regressions;
mod replay;
mod scripts;
mod server;
mod transcript;
mod versions;
