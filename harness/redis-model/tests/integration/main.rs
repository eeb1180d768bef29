//! The model of Redis on its own. `lab/tests/model/` compares it with real servers.
//!
//! - [`large_scripts`]: scripts with very many values
//! - [`scripts`]: scripts return the same replies with and without Lua
//! - [`server`]: behaviour that cannot be compared with a server of version 7.0
//! - [`versions`]: replies of each version that differ from Redis 7.0

mod large_scripts;
mod scripts;
mod server;
mod versions;
