//! The model of Redis by itself. `lab/tests/model/` compares it with real servers.
//!
//! - [`large_scripts`]: scripts with very many values
//! - [`scripts`]: scripts that run without Lua give what they give with it
//! - [`server`]: what no server of version 7.0 could show
//! - [`versions`]: what each version says that Redis 7.0 says in another way

mod large_scripts;
mod scripts;
mod server;
mod versions;
