//! The model of Redis on its own. `lab/tests/model/` compares it with real servers.
//!
//! - [`large_scripts`]: scripts with very many values
//! - [`scripts`]: scripts that run without Lua return the same replies as with it
//! - [`server`]: behaviour that no server of version 7.0 could show
//! - [`versions`]: replies of each version that differ from Redis 7.0

mod large_scripts;
mod scripts;
mod server;
mod versions;
