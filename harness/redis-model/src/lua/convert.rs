//! From replies to Lua values, and back.

use mlua::{Lua, Table, Value};

use super::super::number::general_17;
use super::super::reply::Refusal;
use super::super::{Reply, ServerVersion};
use super::Sha;

/// Deeper nesting is cut off, as Redis does when its C stack would overflow.
const DEPTH: usize = 100;

/// A reply as a script sees it.
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

/// The table that represents an error.
pub(super) fn error_table(lua: &Lua, text: &[u8]) -> mlua::Result<Table> {
    let table = lua.create_table_with_capacity(0, 3)?;
    table.raw_set("err", lua.create_string(text)?)?;
    Ok(table)
}

/// The text of `redis.error_reply`: a text without an error code gets `ERR`, since 7.0.
pub(super) fn error_code(version: ServerVersion, text: &[u8]) -> Vec<u8> {
    if !version.since_70() {
        return text.to_vec();
    }
    let text = text.strip_prefix(b"-").unwrap_or(text);
    if text.contains(&b' ') {
        text.to_vec()
    } else {
        [b"ERR ", text].concat()
    }
}

/// What a script returned, as the reply to its client.
pub(super) fn to_reply(value: &Value) -> Reply {
    convert(value, 0).unwrap_or(Reply::Nil)
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

/// C's conversion to a 64-bit integer on x86: a value out of range becomes the smallest integer.
pub(super) fn truncate(number: f64) -> i64 {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    if (-LIMIT..LIMIT).contains(&number) {
        number as i64
    } else {
        i64::MIN
    }
}

/// A text field, which Redis reads as a C string. Numbers do not count as text here.
fn text_of(table: &Table, field: &str) -> mlua::Result<Option<String>> {
    Ok(match table.raw_get::<Value>(field)? {
        Value::String(text) => Some(Refusal::quote(&text.as_bytes(), usize::MAX)),
        _ => None,
    })
}

fn table_reply(table: &Table, depth: usize) -> mlua::Result<Reply> {
    if let Some(text) = text_of(table, "err")? {
        return Ok(Reply::Error(one_line(&text).into()));
    }
    if let Some(text) = text_of(table, "ok")? {
        return Ok(Reply::Simple(one_line(&text).into()));
    }
    if let Value::Number(number) = table.raw_get::<Value>("double")? {
        return Ok(Reply::Double(general_17(number)));
    }
    if let Value::Table(map) = table.raw_get::<Value>("map")? {
        let mut pairs = Vec::new();
        map.for_each(|key: Value, value: Value| {
            pairs.push((convert(&key, depth + 1)?, convert(&value, depth + 1)?));
            Ok(())
        })?;
        return Ok(Reply::Map(pairs));
    }
    if let Value::Table(set) = table.raw_get::<Value>("set")? {
        let mut members = Vec::new();
        set.for_each(|key: Value, _: Value| {
            members.push(convert(&key, depth + 1)?);
            Ok(())
        })?;
        return Ok(Reply::Set(members));
    }
    let mut items = Vec::with_capacity(table.raw_len());
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

/// The error reply of a script that raised this value.
pub(super) fn error_text(version: ServerVersion, raised: &Value, sha: &Sha) -> String {
    let Value::Table(table) = raised else {
        return "ERR a script raised what is no error".to_owned();
    };
    let field = |name: &str| text_of(table, name).ok().flatten();
    // Redis 7.0 reads the missing text of an error and crashes. Newer versions reply like this.
    let message = field("err").unwrap_or_else(|| "ERR unknown error".to_owned());
    let line = match table.raw_get::<Value>("line") {
        Ok(Value::Integer(line)) => Some(line),
        Ok(Value::Number(line)) => Some(line as i64),
        _ => None,
    };
    match (field("source"), line) {
        (Some(source), Some(line)) => located(version, &message, sha, &source, line),
        _ => one_line(&message),
    }
}

/// An error's text with the position at which it was raised.
pub(super) fn located(
    version: ServerVersion,
    message: &str,
    sha: &Sha,
    source: &str,
    line: i64,
) -> String {
    let sha = String::from_utf8_lossy(sha);
    one_line(&match version {
        ServerVersion::Valkey91 => format!("{message} script: on {source}:{line}."),
        _ => format!("{message} script: {sha}, on {source}:{line}."),
    })
}
