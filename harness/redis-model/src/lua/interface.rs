//! The functions of the table `redis` that concern the script itself: its protocol, its replication, the log.

use std::sync::{Arc, Mutex};

use mlua::{Function, Lua, MultiValue, Table, Value};

use super::convert::truncate;
use super::raised::Raised;
use super::{ScriptContext, Shared, call, fuse, lock};
use crate::ServerVersion;
use crate::command::{Misuse, exists_elsewhere, find};

/// What differs between versions in their words.
struct Words {
    /// The name of the table in errors.
    table: &'static str,
    set_repl: &'static str,
    level: &'static str,
}

fn words(version: ServerVersion) -> Words {
    Words {
        table: match version.is_valkey() {
            true => "server",
            false => "redis",
        },
        set_repl: match version.since_72() {
            true => "one argument",
            false => "two arguments",
        },
        level: match version.since_72() {
            true => "log",
            false => "debug",
        },
    }
}

/// Puts the functions and constants into the table for the prelude.
pub(super) fn add(
    native: &Table,
    lua: &Lua,
    shared: &Arc<Mutex<Shared>>,
    version: ServerVersion,
) -> mlua::Result<()> {
    native.set("setresp", setresp(lua, shared, version)?)?;
    native.set("set_repl", set_repl(lua, shared, version)?)?;
    native.set("log", log(lua, version)?)?;
    native.set("has_clock", version.since_72())?;
    native.set("has_old_globals", !version.since_70())?;
    if version.since_70() {
        native.set("acl_check_cmd", acl_check_cmd(lua, shared, version)?)?;
    }
    if version.is_valkey() {
        native.set("server_name", version.server())?;
        native.set("valkey_version", version.number())?;
        native.set("valkey_version_number", packed(version.number()))?;
    }
    Ok(())
}

/// A version as one number, a byte for each part.
pub(super) fn packed(version: &str) -> i64 {
    let parts = version
        .split('.')
        .filter_map(|part| part.parse::<i64>().ok());
    parts.fold(0, |number, part| number << 8 | part)
}

/// A number as the script's C functions read it: what is none counts as zero.
fn int(lua: &Lua, value: Value) -> mlua::Result<i32> {
    Ok(truncate(lua.coerce_number(value)?.unwrap_or(0.0)) as i32)
}

/// `redis.setresp`: the protocol in which the script sees replies.
fn setresp(
    lua: &Lua,
    shared: &Arc<Mutex<Shared>>,
    version: ServerVersion,
) -> mlua::Result<Function> {
    let shared = Arc::clone(shared);
    lua.create_function(move |lua, mut values: MultiValue| {
        let (1, Some(protocol)) = (values.len(), values.pop_front()) else {
            let table = words(version).table;
            let text = format!("ERR {table}.setresp() requires one argument.");
            return Err(Raised::error(text));
        };
        let protocol = int(lua, protocol)?;
        if protocol != 2 && protocol != 3 {
            return Err(Raised::error("ERR RESP version must be 2 or 3."));
        }
        if let Some(running) = &mut lock(&shared).running {
            running.caller.call.resp3 = protocol == 3;
        }
        Ok(())
    })
}

/// `redis.set_repl`, as far as it changes nothing.
fn set_repl(
    lua: &Lua,
    shared: &Arc<Mutex<Shared>>,
    version: ServerVersion,
) -> mlua::Result<Function> {
    let shared = Arc::clone(shared);
    lua.create_function(move |lua, mut values: MultiValue| {
        let (1, Some(flags)) = (values.len(), values.pop_front()) else {
            let Words {
                table, set_repl, ..
            } = words(version);
            let text = format!("ERR {table}.set_repl() requires {set_repl}.");
            return Err(Raised::error(text));
        };
        match int(lua, flags)? {
            3 => Ok(()),
            0..3 => Err(fuse::not_modelled(&mut lock(&shared), "redis.set_repl")),
            _ => Err(Raised::error(
                "ERR Invalid replication flags. Use REPL_AOF, REPL_REPLICA, REPL_ALL or REPL_NONE.",
            )),
        }
    })
}

/// `redis.log`, of which nobody sees more than its errors.
fn log(lua: &Lua, version: ServerVersion) -> mlua::Result<Function> {
    lua.create_function(move |lua, mut values: MultiValue| {
        let Words { table, level, .. } = words(version);
        if values.len() < 2 {
            let text = format!("ERR {table}.log() requires two arguments or more.");
            return Err(Raised::error(text));
        }
        let first = values.pop_front().unwrap_or(Value::Nil);
        let Some(number) = lua.coerce_number(first)? else {
            return Err(Raised::error(
                "ERR First argument must be a number (log level).",
            ));
        };
        match truncate(number) as i32 {
            0..=3 => Ok(()),
            _ => Err(Raised::error(format!("ERR Invalid {level} level."))),
        }
    })
}

/// `redis.acl_check_cmd`: the user may do everything that there is.
fn acl_check_cmd(
    lua: &Lua,
    shared: &Arc<Mutex<Shared>>,
    version: ServerVersion,
) -> mlua::Result<Function> {
    let shared = Arc::clone(shared);
    lua.create_function(move |_, values: MultiValue| {
        let mut shared = lock(&shared);
        let Some(running) = &mut shared.running else {
            return Ok(true);
        };
        let checked = call::with_words(running, &values, |running, words| {
            Ok(check(running, words, version))
        });
        match checked {
            Ok(Checked::Allowed) => Ok(true),
            Ok(Checked::Refused(text)) => Err(Raised::error(text)),
            Ok(Checked::Unknown) => {
                let what = "a command of redis.acl_check_cmd";
                Err(fuse::not_modelled(&mut shared, what))
            }
            Err(refusal) => Err(Raised::error(refusal.worded(version).0)),
        }
    })
}

enum Checked {
    Allowed,
    Refused(String),
    Unknown,
}

fn check(_: &mut ScriptContext, args: &[&[u8]], version: ServerVersion) -> Checked {
    let table = words(version).table;
    let invalid = format!("ERR Invalid command passed to {table}.acl_check_cmd()");
    let Some(spec) = find(args[0], version) else {
        return match exists_elsewhere(args[0]) {
            true => Checked::Refused(invalid),
            false => Checked::Unknown,
        };
    };
    match spec.check(args, version) {
        Misuse::None => Checked::Allowed,
        Misuse::Unknown(_) => Checked::Unknown,
        // Only Redis 8 counts the words.
        Misuse::Arity(_) if version.is_valkey() || !version.since_72() => Checked::Allowed,
        Misuse::Arity(_) => Checked::Refused(format!(
            "ERR Wrong number of args for {table}.acl_check_cmd()"
        )),
    }
}
