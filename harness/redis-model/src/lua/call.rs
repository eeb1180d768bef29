//! `redis.call`, which executes a command of a script and returns its reply.

use std::sync::{Arc, Mutex};

use mlua::{BorrowedBytes, Function, Lua, MultiValue, Value};

use super::super::Reply;
use super::super::command::{Misuse, Run, look_up};
use super::super::dispatch::{OUT_OF_MEMORY, data};
use super::super::number::general_17;
use super::super::reply::{Refusal, refuse};
use super::super::state::State;
use super::raised::Raised;
use super::{Caller, ScriptContext, Shared, convert, fuse, lock};

/// Creates `redis.call`, which raises errors, or `redis.pcall`, which returns them as tables.
pub(super) fn function(
    lua: &Lua,
    shared: &Arc<Mutex<Shared>>,
    raises: bool,
) -> mlua::Result<Function> {
    let shared = Arc::clone(shared);
    lua.create_function(move |lua, words: MultiValue| {
        fuse::charge(&shared, length(&words))?;
        let reply = match &mut lock(&shared).running {
            Some(running) => call(running, &words).unwrap_or_else(Reply::from),
            None => Reply::error("ERR redis.call outside of a script"),
        };
        match reply {
            Reply::Error(text) if raises => Err(Raised::error(text)),
            reply => convert::to_lua(lua, &reply),
        }
    })
}

/// Returns the total number of bytes of all text arguments, an upper bound of what the command can store.
fn length(words: &MultiValue) -> u64 {
    let length = |word: &Value| match word {
        Value::String(text) => text.as_bytes().len() as u64,
        _ => 0,
    };
    words.iter().map(length).sum()
}

/// Creates the Lua function that ends a script that uses something that is not modelled.
pub(super) fn refuse_function(lua: &Lua, shared: &Arc<Mutex<Shared>>) -> mlua::Result<Function> {
    let shared = Arc::clone(shared);
    lua.create_function(move |_, what: String| -> mlua::Result<()> {
        Err(fuse::not_modelled(&shared, &what))
    })
}

/// Error for an argument type that no command accepts.
pub(super) const NOT_WORDS: Refusal =
    Refusal::fixed("ERR Lua redis lib command arguments must be strings or integers");

/// An argument of a call. Numbers are formatted with Lua's `%.17g`.
enum Word<'a> {
    Text(BorrowedBytes<'a>),
    Number(String),
}

impl Word<'_> {
    fn from_value(value: &Value) -> Result<Word<'_>, Refusal> {
        match value {
            Value::String(text) => Ok(Word::Text(text.as_bytes())),
            Value::Integer(number) => Ok(Word::Number(number.to_string())),
            Value::Number(number) => Ok(Word::Number(general_17(*number))),
            _ => Err(NOT_WORDS),
        }
    }

    fn bytes(&self) -> &[u8] {
        match self {
            Word::Text(bytes) => bytes,
            Word::Number(text) => text.as_bytes(),
        }
    }
}

fn call(running: &mut ScriptContext, values: &MultiValue) -> Result<Reply, Refusal> {
    if values.is_empty() {
        return refuse("ERR Please specify at least one argument for this redis lib call");
    }
    let words = values.iter().map(Word::from_value);
    let words = words.collect::<Result<Vec<_>, _>>()?;
    let args: Vec<&[u8]> = words.iter().map(Word::bytes).collect();
    dispatch(&mut running.state, &mut running.caller, &args)
}

/// Executes a command of a script.
pub(super) fn dispatch(
    state: &mut State,
    caller: &mut Caller,
    args: &[&[u8]],
) -> Result<Reply, Refusal> {
    let spec = look_up(state, args).map_err(|misuse| match misuse {
        Misuse::Arity(_) => {
            Refusal::fixed("ERR Wrong number of args calling Redis command from script")
        }
        _ => Refusal::fixed("ERR Unknown Redis command called from script"),
    })?;
    let run = match spec.run {
        Run::Data(run) if !spec.refused_in_scripts(state.version) => run,
        _ => return refuse("ERR This Redis command is not allowed from script"),
    };
    if (spec.write || spec.replicated) && caller.no_writes {
        return refuse("ERR Write commands are not allowed from read-only scripts.");
    }
    if state.out_of_memory && spec.denies_oom && !caller.wrote {
        return Err(OUT_OF_MEMORY);
    }
    caller.wrote |= spec.write;
    let Caller { call, database, .. } = caller;
    Ok(data(state, call, database, spec, run, args))
}
