//! Lua states that outlive their servers.
//!
//! Creating a Lua state, with all that Redis puts around a script, takes longer than hundreds of
//! commands, and a simulated run has a handful of servers. So a server's state is passed to the
//! next server as if it were new: it knows no script, and its random numbers start again.
//!
//! That is only sound if no script has changed what the next one can see. Redis's own protection
//! leaves few ways to do that, and each has a name that must appear in the script's text. A state
//! in which such a script was ever compiled is not passed on.

use std::sync::{Mutex, PoisonError};

use super::{Engine, Shared, lock};
use crate::ServerVersion;

/// States that are not in use.
static IDLE: Mutex<Vec<Engine>> = Mutex::new(Vec::new());

/// At most this many idle states are kept.
const MOST_IDLE: usize = 128;

/// A state with more scripts than this is not passed on: scripts with arguments pasted into them
/// would accumulate.
const MOST_COMPILED: usize = 64;

/// Without one of these names a script reaches no table that outlives it. Lua has no other way to
/// spell a name, and the functions that read names from strings are among them.
const WAYS_OUT: [&[u8]; 9] = [
    b"_G",
    b"collectgarbage",
    b"coroutine",
    b"gcinfo",
    b"getmetatable",
    b"load",
    b"rawset",
    b"setmetatable",
    b"xpcall",
];

/// True for a script that may change what another one sees.
pub(super) fn may_leave_traces(body: &[u8]) -> bool {
    WAYS_OUT
        .iter()
        .any(|way| memchr::memmem::find(body, way).is_some())
}

/// A Lua state in which nothing has happened yet, as far as a script can tell.
pub(super) fn lend(version: ServerVersion) -> mlua::Result<Box<Engine>> {
    let mut idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner);
    // The state that was returned last is still in the processor's cache.
    let known = idle.iter().rposition(|engine| engine.version == version);
    match known.map(|place| idle.swap_remove(place)) {
        Some(engine) => Ok(Box::new(engine)),
        None => {
            drop(idle);
            Ok(Box::new(Engine::new(version)?))
        }
    }
}

/// True for a state that can still pass for a new one.
pub(super) fn may_be_passed_on(engine: &Engine) -> bool {
    engine.is_unspoilt() && engine.compiled.len() <= MOST_COMPILED
}

/// Takes a server's Lua state back when the server is gone.
pub(super) fn give_back(engine: Engine) {
    if !may_be_passed_on(&engine) {
        return;
    }
    *lock(&engine.shared) = Shared::default();
    let mut idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner);
    if idle.len() < MOST_IDLE {
        idle.push(engine);
    }
}

#[cfg(test)]
mod tests {
    use crate::{Now, Reply, Server, ServerVersion};

    /// The answer of an unused server to a script.
    fn fresh(script: &str) -> Reply {
        let mut server = Server::new(ServerVersion::default());
        let client = server.connect();
        let args = [b"EVAL".as_slice(), script.as_bytes(), b"0"];
        server.execute(client, &args, Now::from_ms(0))
    }

    #[test]
    fn a_script_is_known_to_no_other_server() {
        let sha = "e0e1f9fabfc9d4800c877a703b823ac0578ff8db";
        assert_eq!(fresh("return 1"), Reply::Int(1));
        let mut server = Server::new(ServerVersion::default());
        let client = server.connect();
        let args = [b"EVALSHA".as_slice(), sha.as_bytes(), b"0"];
        assert!(server.execute(client, &args, Now::from_ms(0)).is_error());
    }

    #[test]
    fn random_numbers_begin_again() {
        let script = "return math.random(1000000) * 1000000 + math.random(1000000)";
        assert_eq!(fresh(script), fresh(script));
    }

    #[test]
    fn what_a_script_spoils_is_not_passed_on() {
        for _ in 0..200 {
            assert_eq!(fresh("return ('').traced"), Reply::Nil);
            let spoilt = "getmetatable('').__index.traced = 1 return ('').traced";
            assert_eq!(fresh(spoilt), Reply::Int(1));
        }
    }
}
