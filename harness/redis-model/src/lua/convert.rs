//! Conversion between replies and Lua values.

use mlua::{Lua, Table, Value};

use super::super::Reply;
use super::super::reply::Refusal;

/// Maximum nesting. A deeper value is replaced by an error, as on a real server when the Lua stack is full.
const DEPTH: usize = 100;

/// Converts a reply for a script.
pub(super) fn to_lua(lua: &Lua, reply: &Reply) -> mlua::Result<Value> {
    Ok(match reply {
        Reply::Int(number) => Value::Number(*number as f64),
        Reply::Bulk(bytes) | Reply::Verbatim(_, bytes) => Value::String(lua.create_string(bytes)?),
        Reply::Double(text) => Value::String(lua.create_string(text)?),
        Reply::Nil | Reply::NilArray | Reply::Blocked => Value::Boolean(false),
        Reply::Simple(text) => {
            let table = lua.create_table_with_capacity(0, 1)?;
            table.raw_set("ok", text.as_ref())?;
            Value::Table(table)
        }
        Reply::Error(text) => Value::Table(error_table(lua, text.as_bytes())?),
        Reply::Array(items) | Reply::Set(items) | Reply::Push(items) | Reply::Several(items) => {
            list(lua, items.iter())?
        }
        Reply::Map(pairs) => list(lua, pairs.iter().flat_map(|(key, value)| [key, value]))?,
    })
}

fn list<'a>(lua: &Lua, items: impl Iterator<Item = &'a Reply>) -> mlua::Result<Value> {
    let table = lua.create_table()?;
    for (place, item) in items.enumerate() {
        table.raw_seti(place + 1, to_lua(lua, item)?)?;
    }
    Ok(Value::Table(table))
}

/// Creates the table that represents an error.
pub(super) fn error_table(lua: &Lua, text: &[u8]) -> mlua::Result<Table> {
    let table = lua.create_table_with_capacity(0, 3)?;
    table.raw_set("err", lua.create_string(text)?)?;
    Ok(table)
}

/// Returns the text of `redis.error_reply`: a text without an error code gets `ERR`.
pub(super) fn error_code(text: &[u8]) -> Vec<u8> {
    let text = text.strip_prefix(b"-").unwrap_or(text);
    if text.contains(&b' ') {
        text.to_vec()
    } else {
        [b"ERR ", text].concat()
    }
}

/// Converts the result of a script to the reply for its client. Returns an error if the result needs something that is
/// not modelled.
pub(super) fn to_reply(value: &Value) -> mlua::Result<Reply> {
    convert(value, 0)
}

fn convert(value: &Value, depth: usize) -> mlua::Result<Reply> {
    Ok(match value {
        Value::String(text) => Reply::Bulk(text.as_bytes().to_vec()),
        Value::Boolean(true) => Reply::Int(1),
        Value::Integer(number) => Reply::Int(*number),
        Value::Number(number) => Reply::Int(truncate(*number)),
        Value::Table(_) if depth > DEPTH => Reply::error("reached lua stack limit"),
        Value::Table(table) => table_reply(table, depth)?,
        _ => Reply::Nil,
    })
}

/// Converts a number to a 64-bit integer like C on x86, where a value out of range becomes the smallest integer.
pub(super) fn truncate(number: f64) -> i64 {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    if (-LIMIT..LIMIT).contains(&number) {
        number as i64
    } else {
        i64::MIN
    }
}

/// Returns a text field, which Redis reads as a C string. A number does not count as text here.
fn text_of(table: &Table, field: &str) -> mlua::Result<Option<String>> {
    Ok(match table.raw_get::<Value>(field)? {
        Value::String(text) => Some(Refusal::quote(&text.as_bytes(), usize::MAX)),
        _ => None,
    })
}

/// Fields that mark a table as a reply type of RESP3 only.
const RESP3: [&str; 5] = ["double", "map", "set", "big_number", "verbatim_string"];

fn table_reply(table: &Table, depth: usize) -> mlua::Result<Reply> {
    if let Some(text) = text_of(table, "err")? {
        return Ok(Reply::Error(one_line(&text).into()));
    }
    if let Some(text) = text_of(table, "ok")? {
        return Ok(Reply::Simple(one_line(&text).into()));
    }
    for field in RESP3 {
        if !table.raw_get::<Value>(field)?.is_nil() {
            return Err(mlua::Error::runtime("scripts that return types of RESP3"));
        }
    }
    // The loop does not use the table's length, because `t[2^29] = 1` can make the length half a billion.
    let mut items = Vec::new();
    for place in 1.. {
        match table.raw_get::<Value>(place)? {
            Value::Nil => break,
            item => items.push(convert(&item, depth + 1)?),
        }
    }
    Ok(Reply::Array(items))
}

pub(super) fn one_line(text: &str) -> String {
    text.replace(['\r', '\n'], " ")
}

/// Returns the error reply of a script that raised this value.
pub(super) fn error_text(raised: &Value, name: &[u8]) -> String {
    let Value::Table(table) = raised else {
        return "ERR a script raised a value that is not an error".to_owned();
    };
    let message = text_of(table, "err").ok().flatten();
    // Redis 7.0 crashes if the text of an error is missing. Newer versions send this reply.
    let message = message.unwrap_or_else(|| "ERR unknown error".to_owned());
    match table.raw_get::<Value>("line") {
        Ok(Value::Integer(line)) => located(&message, name, line),
        Ok(Value::Number(line)) => located(&message, name, line as i64),
        _ => one_line(&message),
    }
}

/// Returns an error's text with the position at which it was raised.
pub(super) fn located(message: &str, name: &[u8], line: i64) -> String {
    let name = String::from_utf8_lossy(name);
    one_line(&format!(
        "{message} script: {name}, on @user_script:{line}."
    ))
}
