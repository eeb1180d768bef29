//! From replies to Lua values, and back.

use mlua::{Lua, Table, Value};

use super::super::number::{double_text, general_17};
use super::super::reply::Refusal;
use super::super::{Reply, ServerVersion};

/// Deeper nesting is cut off, as Redis does when its C stack would overflow.
const DEPTH: usize = 100;

/// What conversions depend on: the version, and the protocol that the script has chosen.
#[derive(Clone, Copy, Default)]
pub(super) struct Terms {
    pub version: ServerVersion,
    pub resp3: bool,
}

/// A reply as a script sees it.
pub(super) fn to_lua(lua: &Lua, reply: &Reply, terms: Terms) -> mlua::Result<Value> {
    if terms.resp3
        && let Some(value) = richer(lua, reply, terms)?
    {
        return Ok(value);
    }
    Ok(match reply {
        Reply::Boolean(is_true) => Value::Boolean(*is_true),
        Reply::BigNumber(text) => Value::String(lua.create_string(text)?),
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
            list(lua, items.iter(), terms)?
        }
        Reply::Map(pairs) => list(
            lua,
            pairs.iter().flat_map(|(key, value)| [key, value]),
            terms,
        )?,
    })
}

/// A reply that has a table of its own in RESP3.
fn richer(lua: &Lua, reply: &Reply, terms: Terms) -> mlua::Result<Option<Value>> {
    let (name, inner) = match reply {
        Reply::Nil | Reply::NilArray => return Ok(Some(Value::Nil)),
        Reply::Double(text) => ("double", Value::Number(text.parse().unwrap_or(f64::NAN))),
        Reply::BigNumber(text) => ("big_number", Value::String(lua.create_string(text)?)),
        Reply::Map(pairs) => {
            let map = lua.create_table()?;
            for (key, value) in pairs {
                map.raw_set(to_lua(lua, key, terms)?, to_lua(lua, value, terms)?)?;
            }
            ("map", Value::Table(map))
        }
        Reply::Set(items) => {
            let set = lua.create_table()?;
            for item in items {
                set.raw_set(to_lua(lua, item, terms)?, true)?;
            }
            ("set", Value::Table(set))
        }
        Reply::Verbatim(format, text) => {
            let inner = lua.create_table()?;
            inner.raw_set("format", *format)?;
            inner.raw_set("string", lua.create_string(text)?)?;
            ("verbatim_string", Value::Table(inner))
        }
        _ => return Ok(None),
    };
    let table = lua.create_table_with_capacity(0, 1)?;
    table.raw_set(name, inner)?;
    Ok(Some(Value::Table(table)))
}

fn list<'a>(
    lua: &Lua,
    items: impl Iterator<Item = &'a Reply>,
    terms: Terms,
) -> mlua::Result<Value> {
    let table = lua.create_table()?;
    for (place, item) in items.enumerate() {
        table.raw_seti(place + 1, to_lua(lua, item, terms)?)?;
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

/// What a script returned, as the reply to its client. The error names what is not modelled.
pub(super) fn to_reply(value: &Value, terms: Terms) -> mlua::Result<Reply> {
    convert(value, 0, terms)
}

fn convert(value: &Value, depth: usize, terms: Terms) -> mlua::Result<Reply> {
    Ok(match value {
        Value::String(text) => Reply::Bulk(text.as_bytes().to_vec()),
        Value::Boolean(is_true) if terms.resp3 => Reply::Boolean(*is_true),
        Value::Boolean(true) => Reply::Int(1),
        Value::Integer(number) => Reply::Int(*number),
        Value::Number(number) => Reply::Int(truncate(*number)),
        Value::Table(_) if depth > DEPTH => Reply::error("reached lua stack limit"),
        Value::Table(table) => table_reply(table, depth, terms)?,
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

fn table_reply(table: &Table, depth: usize, terms: Terms) -> mlua::Result<Reply> {
    if let Some(text) = text_of(table, "err")? {
        return Ok(Reply::Error(one_line(&text).into()));
    }
    if let Some(text) = text_of(table, "ok")? {
        return Ok(Reply::Simple(one_line(&text).into()));
    }
    // Whole numbers arrive as integers.
    let double = match table.raw_get::<Value>("double")? {
        Value::Integer(number) => Some(number as f64),
        Value::Number(number) => Some(number),
        _ => None,
    };
    if let Some(number) = double {
        return Ok(Reply::Double(double_reply(number, terms.version)));
    }
    if terms.version.since_70()
        && let Some(reply) = newer_reply(table)?
    {
        return Ok(reply);
    }
    if let Value::Table(map) = table.raw_get::<Value>("map")? {
        let mut pairs = Vec::new();
        map.for_each(|key: Value, value: Value| {
            pairs.push((
                convert(&key, depth + 1, terms)?,
                convert(&value, depth + 1, terms)?,
            ));
            Ok(())
        })?;
        return Ok(Reply::Map(pairs));
    }
    if let Value::Table(set) = table.raw_get::<Value>("set")? {
        let mut members = Vec::new();
        set.for_each(|key: Value, _: Value| {
            members.push(convert(&key, depth + 1, terms)?);
            Ok(())
        })?;
        return Ok(Reply::Set(members));
    }
    // Its length says nothing: `t[2^29] = 1` can make it half a billion.
    let mut items = Vec::new();
    for place in 1.. {
        match table.raw_get::<Value>(place)? {
            Value::Nil => break,
            item => items.push(convert(&item, depth + 1, terms)?),
        }
    }
    Ok(Reply::Array(items))
}

fn double_reply(number: f64, version: ServerVersion) -> String {
    match number.is_nan() && version.since_72() {
        true => "nan".to_owned(),
        false if number.is_nan() => general_17(number),
        false => double_text(number, version.since_72()),
    }
}

/// The replies that scripts can give since 7.0.
fn newer_reply(table: &Table) -> mlua::Result<Option<Reply>> {
    if let Some(text) = text_of(table, "big_number")? {
        return Ok(Some(Reply::BigNumber(one_line(&text))));
    }
    let Value::Table(inner) = table.raw_get::<Value>("verbatim_string")? else {
        return Ok(None);
    };
    let format = inner.raw_get::<Value>("format")?;
    let text = inner.raw_get::<Value>("string")?;
    Ok(match (format, text) {
        (Value::String(format), Value::String(text)) => {
            let text = text.as_bytes().to_vec();
            match &*format.as_bytes() {
                b"mkd" => Some(Reply::Verbatim("mkd", text)),
                b"txt" => Some(Reply::Verbatim("txt", text)),
                _ => return Err(mlua::Error::runtime("the format of a text")),
            }
        }
        _ => None,
    })
}

pub(super) fn one_line(text: &str) -> String {
    text.replace(['\r', '\n'], " ")
}

/// The error reply of a script that raised this value.
pub(super) fn error_text(version: ServerVersion, raised: &Value, name: &[u8]) -> String {
    let Value::Table(table) = raised else {
        return "ERR a script raised what is no error".to_owned();
    };
    let field = |name: &str| text_of(table, name).ok().flatten();
    let message = raised_text(raised);
    let line = match table.raw_get::<Value>("line") {
        Ok(Value::Integer(line)) => Some(line),
        Ok(Value::Number(line)) => Some(line as i64),
        _ => None,
    };
    match (field("source"), line) {
        (Some(source), Some(line)) => located(version, &message, name, &source, line),
        _ => one_line(&message),
    }
}

/// The text of a raised value.
pub(super) fn raised_text(raised: &Value) -> String {
    let text = match raised {
        Value::Table(table) => text_of(table, "err").ok().flatten(),
        _ => None,
    };
    // Redis 7.0 reads the missing text of an error and crashes. Newer versions reply like this.
    text.unwrap_or_else(|| "ERR unknown error".to_owned())
}

/// An error's text with the position at which it was raised.
pub(super) fn located(
    version: ServerVersion,
    message: &str,
    name: &[u8],
    source: &str,
    line: i64,
) -> String {
    let name = String::from_utf8_lossy(name);
    one_line(&match version {
        ServerVersion::Valkey91 => format!("{message} script: on {source}:{line}."),
        _ => format!("{message} script: {name}, on {source}:{line}."),
    })
}
