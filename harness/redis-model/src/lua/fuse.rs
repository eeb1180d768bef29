//! Ends scripts that run for too long or use too much memory. The limits are called the fuse.

use std::sync::{Arc, Mutex};

use mlua::{Function, HookTriggers, Lua, Value, VmState};

use super::super::reply::Refusal;
use super::super::state::State;
use super::{Shared, lock};

/// Maximum number of instructions of a script.
const FUSE: u64 = 20_000_000;

/// Number of instructions between two checks.
const STEP: u32 = 100_000;

/// Maximum memory of a Lua state in bytes, because even a short script can request any amount.
const MEMORY: usize = 128 << 20;

/// Lua's error text when it is out of memory.
const NO_MEMORY: &str = "not enough memory";

/// Reason why a run is inconclusive in which a script exceeded the memory limit.
const MUCH_MEMORY: &str = "scripts that take more than 128 MiB";

/// Installs the fuse in a Lua state.
pub(super) fn set(lua: &Lua, shared: &Arc<Mutex<Shared>>) -> mlua::Result<()> {
    lua.set_memory_limit(MEMORY)?;
    let shared = Arc::clone(shared);
    let triggers = HookTriggers::new().every_nth_instruction(STEP);
    lua.set_global_hook(triggers, move |_, _| {
        let mut shared = lock(&shared);
        shared.spent += u64::from(STEP);
        check(&mut shared)?;
        Ok(VmState::Continue)
    })
}

/// Creates the Lua function that raises the fuse's error again if a script has caught it.
pub(super) fn function(lua: &Lua, shared: &Arc<Mutex<Shared>>) -> mlua::Result<Function> {
    let shared = Arc::clone(shared);
    lua.create_function(move |_, ()| check(&mut lock(&shared)))
}

fn check(shared: &mut Shared) -> mlua::Result<()> {
    if shared.spent < FUSE {
        return Ok(());
    }
    remember(shared, "scripts that do not end");
    Err(mlua::Error::runtime(
        "the model of Redis ends scripts that do not end",
    ))
}

/// Records in the state of the script's server that something is not modelled.
fn remember(shared: &mut Shared, what: &str) {
    if let Some(running) = &mut shared.running {
        running.state.unknown.insert(what.to_owned());
    }
}

/// Collects garbage if a Lua state uses more than half of its memory limit. Lua's own collector waits until memory use
/// has doubled, which would exceed the limit.
pub(super) fn collect(lua: &Lua) {
    if lua.used_memory() > MEMORY / 2 {
        // The collection itself needs memory, so it runs without a limit. If it fails, the next script is refused.
        let _ = lua.set_memory_limit(0);
        let _ = lua.gc_collect();
        let _ = lua.set_memory_limit(MEMORY);
    }
}

/// If `words` is the error text of a script that ran out of memory, records this and returns the refusal.
pub(super) fn out_of_memory(state: &mut State, words: &str) -> Option<Refusal> {
    let is_out_of_memory = words.contains(NO_MEMORY);
    is_out_of_memory.then(|| state.not_modelled(MUCH_MEMORY))
}

/// Records that a script has caught an out-of-memory error.
pub(super) fn record_caught(shared: &Mutex<Shared>, raised: &Value) {
    let is_out_of_memory = match raised {
        Value::String(text) => *text.as_bytes() == *NO_MEMORY.as_bytes(),
        Value::Error(error) => error.to_string().contains(NO_MEMORY),
        _ => false,
    };
    if is_out_of_memory {
        remember(&mut lock(shared), MUCH_MEMORY);
    }
}

/// Counts the work of a native function as instructions, about one instruction for each byte or value.
pub(super) fn charge(shared: &Mutex<Shared>, amount: u64) -> mlua::Result<()> {
    let mut shared = lock(shared);
    shared.spent = shared.spent.saturating_add(amount);
    check(&mut shared)
}

/// Records that a script has requested something that is not modelled. Returns the error that ends the script.
pub(super) fn not_modelled(shared: &Mutex<Shared>, what: &str) -> mlua::Error {
    remember(&mut lock(shared), &format!("{what} in a script"));
    mlua::Error::runtime(format!("the model of Redis does not know {what}"))
}
