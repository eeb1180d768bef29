//! `cmsgpack`: MessagePack.

use mlua::{Lua, MultiValue, Table, Value};

use super::{Arguments, Common, message_reader, message_writer};
use crate::ServerVersion;

/// The table of the library.
pub(super) fn library(lua: &Lua, shared: &Common, version: ServerVersion) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    table.raw_set("_NAME", "cmsgpack")?;
    table.raw_set("_VERSION", "lua-cmsgpack 0.4.0")?;
    let holder = match version.is_valkey() {
        true => "Redis Ltd.",
        false => "Salvatore Sanfilippo",
    };
    table.raw_set("_COPYRIGHT", format!("Copyright (C) 2012, {holder}"))?;
    table.raw_set("_DESCRIPTION", "MessagePack C implementation for Lua")?;
    let common = Common::clone(shared);
    let pack = lua.create_function(move |lua, values: MultiValue| {
        lua.create_string(message_writer::write(
            &Arguments::new(lua, values),
            &common,
        )?)
    })?;
    table.raw_set("pack", pack)?;
    for (name, bounds) in UNPACK {
        let common = Common::clone(shared);
        let unpack = lua.create_function(move |lua, values: MultiValue| {
            let arguments = Arguments::new(lua, values);
            let (limit, offset) = bounds(&arguments)?;
            unpack(lua, &arguments, &common, limit, offset)
        })?;
        table.raw_set(name, unpack)?;
    }
    Ok(table)
}

/// Reads how many values are wanted (all: zero), and where they begin.
type Bounds = fn(&Arguments<'_>) -> mlua::Result<(i64, i64)>;

const UNPACK: [(&str, Bounds); 3] = [
    ("unpack", |_| Ok((0, 0))),
    ("unpack_one", |it| Ok((1, it.integer_or(2, 0)?))),
    ("unpack_limit", |it| {
        Ok((it.integer(2)?, it.integer_or(3, 0)?))
    }),
];

fn unpack(
    lua: &Lua,
    arguments: &Arguments<'_>,
    shared: &Common,
    limit: i64,
    offset: i64,
) -> mlua::Result<MultiValue> {
    let text = arguments.text(1)?;
    let text = text.as_bytes();
    let length = text.len();
    // The original prints its numbers as C's `int`.
    let shown = offset as i32;
    let (Ok(most), Ok(begin)) = (usize::try_from(limit), usize::try_from(offset)) else {
        return Err(arguments.error(&format!(
            "Invalid request to unpack with offset of {shown} and limit of {length}."
        )));
    };
    if begin > length {
        return Err(arguments.error(&format!(
            "Start offset {shown} greater than input length {length}."
        )));
    }
    let all = most == 0 && begin == 0;
    let most = if all { usize::MAX } else { most };
    let mut reader = message_reader::Reader::new(lua, arguments, shared, &text, begin);
    let mut results = reader.values(most)?;
    if !all {
        let next = match reader.at == length {
            true => -1.0,
            false => reader.at as f64,
        };
        results.insert(0, Value::Number(next));
    }
    Ok(MultiValue::from_vec(results))
}
