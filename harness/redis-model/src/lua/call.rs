//! `redis.call`: from a script to the dispatcher and back.

use std::sync::{Arc, Mutex};

use mlua::{Function, Lua, MultiValue, Value};

use super::super::Reply;
use super::super::command::{Misuse, Run, look_up};
use super::super::dispatch::{OUT_OF_MEMORY, READ_ONLY, data};
use super::super::number::general_17;
use super::super::reply::Refusal;
use super::super::state::State;
use super::raised::Raised;
use super::{Caller, ScriptContext, Shared, convert, fuse, lock};

/// `redis.call`, which raises errors, or `redis.pcall`, which returns them as tables.
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

/// Bytes of the texts among the words: what a command may store.
fn length(words: &MultiValue) -> u64 {
    let length = |word: &Value| match word {
        Value::String(text) => text.as_bytes().len() as u64,
        _ => 0,
    };
    words.iter().map(length).sum()
}

/// The Lua function that ends a script that uses something that is not modelled.
pub(super) fn refuse_function(lua: &Lua, shared: &Arc<Mutex<Shared>>) -> mlua::Result<Function> {
    let shared = Arc::clone(shared);
    lua.create_function(move |_, what: String| -> mlua::Result<()> {
        Err(fuse::not_modelled(&mut lock(&shared), &what))
    })
}

/// The error for an argument of a type that a command cannot take.
pub(super) const NOT_WORDS: Refusal =
    Refusal::fixed("ERR Lua redis lib command arguments must be strings or integers");

/// The arguments of a call as bytes. Numbers are written as Lua's `%.17g`.
fn words_of(values: &MultiValue) -> Result<Vec<Word>, Refusal> {
    values
        .iter()
        .map(|value| match value {
            Value::String(text) => Ok(Word::Text(text.clone())),
            Value::Integer(number) => Ok(Word::Number(number.to_string())),
            Value::Number(number) => Ok(Word::Number(general_17(*number))),
            _ => Err(NOT_WORDS),
        })
        .collect()
}

enum Word {
    Text(mlua::String),
    Number(String),
}

fn call(running: &mut ScriptContext, values: &MultiValue) -> Result<Reply, Refusal> {
    if values.is_empty() {
        return Err(Refusal::fixed(
            "ERR Please specify at least one argument for this redis lib call",
        ));
    }
    let words = words_of(values)?;
    let borrowed: Vec<_> = words
        .iter()
        .map(|word| match word {
            Word::Text(text) => Borrowed::Text(text.as_bytes()),
            Word::Number(text) => Borrowed::Number(text.as_bytes()),
        })
        .collect();
    let args: Vec<&[u8]> = borrowed
        .iter()
        .map(|word| match word {
            Borrowed::Text(bytes) => bytes.as_ref(),
            Borrowed::Number(bytes) => bytes,
        })
        .collect();
    dispatch(&mut running.state, &mut running.caller, &args)
}

enum Borrowed<'a> {
    Text(mlua::BorrowedBytes<'a>),
    Number(&'a [u8]),
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
        _ => {
            return Err(Refusal::fixed(
                "ERR This Redis command is not allowed from script",
            ));
        }
    };
    if (spec.write || spec.replicated) && caller.no_writes {
        return Err(Refusal::fixed(
            "ERR Write commands are not allowed from read-only scripts.",
        ));
    }
    if state.read_only && spec.write {
        return Err(READ_ONLY);
    }
    if state.out_of_memory && spec.denies_oom && !caller.wrote {
        return Err(OUT_OF_MEMORY);
    }
    caller.wrote |= spec.write;
    let Caller { call, database, .. } = caller;
    Ok(data(state, call, database, spec, run, args))
}
