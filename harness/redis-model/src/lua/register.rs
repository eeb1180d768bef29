//! `redis.register_function`: how a library tells its functions.

use std::sync::{Arc, Mutex};

use mlua::{Function, Lua, MultiValue, Table, Value};

use super::functions::{MANY_FUNCTIONS, MOST_FUNCTIONS};
use super::library_header::{BAD_LIBRARY_NAME, is_name};
use super::raised::Raised;
use super::{Shared, fuse, lock};
use crate::ServerVersion;

/// What a function may declare, in the order of the server's answers.
pub(crate) const FLAGS: [&str; 5] = [
    "no-writes",
    "allow-oom",
    "allow-stale",
    "no-cluster",
    "allow-cross-slot-keys",
];

/// One function of a library.
pub(super) struct Registered {
    pub name: Vec<u8>,
    pub description: Option<Vec<u8>>,
    /// For each of [`FLAGS`], whether it is set.
    pub flags: [bool; FLAGS.len()],
    pub body: Function,
}

/// Puts what libraries get while they are loaded into the table for the prelude.
pub(super) fn add(
    native: &Table,
    lua: &Lua,
    shared: &Arc<Mutex<Shared>>,
    version: ServerVersion,
) -> mlua::Result<()> {
    let of_function = Arc::clone(shared);
    let register = lua.create_function(move |lua, values: MultiValue| {
        register(lua, &of_function, version, values)
    })?;
    native.set("register_function", register)?;
    let log: Function = native.get("log")?;
    if version != ServerVersion::Valkey91 {
        return native.set("log_at_load", log);
    }
    // Valkey 9.1 crashes.
    let shared = Arc::clone(shared);
    let log = lua.create_function(move |_, _: MultiValue| -> mlua::Result<()> {
        let what = "redis.log while a library is loaded";
        Err(fuse::not_modelled(&mut lock(&shared), what))
    })?;
    native.set("log_at_load", log)
}

fn register(
    lua: &Lua,
    shared: &Mutex<Shared>,
    version: ServerVersion,
    values: MultiValue,
) -> mlua::Result<()> {
    let called = match version.is_valkey() {
        true => "server.register_function",
        false => "redis.register_function",
    };
    if lock(shared).registered.is_none() {
        let text = format!("ERR {called} can only be called on FUNCTION LOAD command");
        return Err(Raised::error(text));
    }
    let function = arguments(lua, called, values)
        .map_err(|why| Raised::error(format!("ERR {}", why.replace("{}", called))))?;
    let mut shared = lock(shared);
    // Each takes a handle of Lua, and there is a panic where there are no more.
    if shared.registered.as_ref().map_or(0, Vec::len) >= MOST_FUNCTIONS {
        return Err(fuse::not_modelled(&mut shared, MANY_FUNCTIONS));
    }
    let registered = shared.registered.get_or_insert_default();
    // Valkey looks at the names when the library has told all its functions.
    if !version.is_valkey()
        && let Some(why) = misnamed(version, registered, &function.name)
    {
        return Err(Raised::error(why));
    }
    registered.push(function);
    Ok(())
}

/// Why a function cannot have this name beside those of its library.
pub(super) fn misnamed(
    version: ServerVersion,
    others: &[Registered],
    name: &[u8],
) -> Option<&'static str> {
    if !is_name(name) {
        return Some(match version.is_valkey() {
            true => BAD_FUNCTION_NAME,
            false => BAD_LIBRARY_NAME,
        });
    }
    let taken = others.iter().any(|other| other.name == name);
    taken.then_some("ERR Function already exists in the library")
}

/// What Valkey says of a function's bad name.
const BAD_FUNCTION_NAME: &str = "ERR Function names can only contain letters, numbers, or \
    underscores(_) and must be at least one character long";

/// Reads the arguments. In the error, `{}` stands for the name of the function that was called.
fn arguments(lua: &Lua, called: &str, mut values: MultiValue) -> Result<Registered, String> {
    match (values.len(), values.pop_front(), values.pop_front()) {
        (1, Some(Value::Table(table)), _) => named(lua, called, &table),
        (1, ..) => Err(
            "calling {} with a single argument is only applicable to Lua table (representing named \
             arguments)."
                .to_owned(),
        ),
        (2, Some(name), Some(body)) => {
            let name = text(lua, name).ok_or("first argument to {} must be a string")?;
            let Value::Function(body) = body else {
                return Err("second argument to {} must be a function".to_owned());
            };
            Ok(Registered {
                name,
                description: None,
                flags: Default::default(),
                body,
            })
        }
        _ => Err("wrong number of arguments to {}".to_owned()),
    }
}

fn named(lua: &Lua, called: &str, table: &Table) -> Result<Registered, String> {
    let (mut name, mut description, mut body) = (None, None, None);
    let mut flags = [false; FLAGS.len()];
    for pair in table.pairs::<Value, Value>() {
        let (key, value) = pair.map_err(|error| error.to_string())?;
        let key = text(lua, key).ok_or("named argument key given to {} is not a string")?;
        let is = |word: &str| key.eq_ignore_ascii_case(word.as_bytes());
        if is("function_name") {
            let not_text = "function_name argument given to {} must be a string";
            name = Some(text(lua, value).ok_or(not_text)?);
        } else if is("description") {
            let not_text = "description argument given to {} must be a string";
            description = Some(text(lua, value).ok_or(not_text)?);
        } else if is("callback") {
            let Value::Function(function) = value else {
                return Err(format!(
                    "callback argument given to {called} must be a function"
                ));
            };
            body = Some(function);
        } else if is("flags") {
            let Value::Table(list) = value else {
                let why = "flags argument to {} must be a table representing function flags";
                return Err(why.to_owned());
            };
            flags = read_flags(lua, &list)?;
        } else {
            return Err("unknown argument given to {}".to_owned());
        }
    }
    Ok(Registered {
        name: name.ok_or("{} must get a function name argument")?,
        description,
        flags,
        body: body.ok_or("{} must get a callback argument")?,
    })
}

fn read_flags(lua: &Lua, list: &Table) -> Result<[bool; FLAGS.len()], String> {
    let mut flags = [false; FLAGS.len()];
    for place in 1.. {
        let value = list.raw_get::<Value>(place);
        let value = match value.map_err(|error| error.to_string())? {
            Value::Nil => break,
            value => text(lua, value),
        };
        let is_value = |flag: &&str| {
            let text = value.as_ref();
            text.is_some_and(|text| text.eq_ignore_ascii_case(flag.as_bytes()))
        };
        let known = FLAGS.iter().position(is_value);
        flags[known.ok_or("unknown flag given")?] = true;
    }
    Ok(flags)
}

/// A text, or a number as text.
fn text(lua: &Lua, value: Value) -> Option<Vec<u8>> {
    let text = lua.coerce_string(value).ok().flatten()?;
    Some(text.as_bytes().to_vec())
}
