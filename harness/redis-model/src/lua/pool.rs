//! Lua states that are reused by later servers.
//!
//! Creating a Lua state, with the environment that Redis gives a script, takes longer than hundreds of commands, and
//! every simulated run has several servers. So the Lua state of a removed server is given to a later server, which
//! treats it as new and without scripts.
//!
//! The reuse is safe because no script can leave a change that a later script could see: the prelude omits every
//! function that could do so.

use std::sync::{Mutex, PoisonError};

use super::{Engine, Shared, lock};

/// States that are not in use.
static IDLE: Mutex<Vec<Engine>> = Mutex::new(Vec::new());

/// Maximum number of idle states.
const MAX_IDLE: usize = 128;

/// Maximum number of scripts in a state that is reused. The limit keeps generated scripts, which differ in every call,
/// from accumulating.
const MAX_COMPILED: usize = 64;

/// Returns a Lua state that scripts cannot distinguish from a new one.
pub(super) fn lend() -> mlua::Result<Box<Engine>> {
    // The state that was returned last is still in the CPU's cache.
    let known = IDLE.lock().unwrap_or_else(PoisonError::into_inner).pop();
    Ok(Box::new(match known {
        Some(engine) => engine,
        None => Engine::new()?,
    }))
}

/// Takes back the Lua state of a server that is gone.
pub(super) fn give_back(engine: Engine) {
    if engine.compiled.len() > MAX_COMPILED {
        return;
    }
    *lock(&engine.shared) = Shared::default();
    let mut idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner);
    if idle.len() < MAX_IDLE {
        idle.push(engine);
    }
}

#[cfg(test)]
mod tests {
    use crate::{Now, Reply, Server, ServerVersion};

    /// Returns the reply of an unused server to a script.
    fn fresh(script: &str) -> Reply {
        let mut server = Server::new(ServerVersion::default());
        let client = server.connect();
        let args = [b"EVAL".as_slice(), script.as_bytes(), b"0"];
        server.execute(client, &args, Now::from_ms(0))
    }

    #[test]
    fn script_is_known_only_to_its_server() {
        let sha = "e0e1f9fabfc9d4800c877a703b823ac0578ff8db";
        assert_eq!(fresh("return 1"), Reply::Int(1));
        let mut server = Server::new(ServerVersion::default());
        let client = server.connect();
        let args = [b"EVALSHA".as_slice(), sha.as_bytes(), b"0"];
        assert!(server.execute(client, &args, Now::from_ms(0)).is_error());
    }

    #[test]
    fn script_has_no_way_to_leave_traces() {
        for way in [
            "getmetatable('').__index.traced = 1",
            "rawset(string, 'traced', 1)",
            "setmetatable(KEYS, {})",
            "string.traced = 1",
            "redis[1] = 1",
            "table.insert(redis, 1)",
            "traced = 1",
        ] {
            assert!(fresh(way).is_error(), "{way}");
        }
        assert_eq!(fresh("return ('').traced"), Reply::Nil);
    }
}
