//! The fuse: scripts that do not end are ended, because nobody else could end them.

use std::sync::{Arc, Mutex};

use mlua::{Function, HookTriggers, Lua, VmState};

use super::{Shared, lock};

/// A script that runs longer than this many instructions is ended.
const FUSE: u64 = 20_000_000;

/// How often the fuse is looked at, instructions.
const STEP: u32 = 100_000;

/// Puts the fuse into a Lua state.
pub(super) fn set(lua: &Lua, shared: &Arc<Mutex<Shared>>) -> mlua::Result<()> {
    let shared = Arc::clone(shared);
    let triggers = HookTriggers::new().every_nth_instruction(STEP);
    lua.set_global_hook(triggers, move |_, _| {
        let mut shared = lock(&shared);
        shared.spent += u64::from(STEP);
        check(&mut shared)?;
        Ok(VmState::Continue)
    })
}

/// The Lua function that raises the error again where a script has caught it.
pub(super) fn function(lua: &Lua, shared: &Arc<Mutex<Shared>>) -> mlua::Result<Function> {
    let shared = Arc::clone(shared);
    lua.create_function(move |_, ()| check(&mut lock(&shared)))
}

fn check(shared: &mut Shared) -> mlua::Result<()> {
    if shared.spent < FUSE {
        return Ok(());
    }
    if let Some(running) = &mut shared.running {
        running
            .state
            .unknown
            .insert("scripts that do not end".to_owned());
    }
    Err(mlua::Error::runtime(
        "the model of Redis ends scripts that do not end",
    ))
}
