//! `cjson`: JSON texts.

use std::sync::{Arc, Mutex};

use mlua::{Lua, MultiValue, Table, Value};

use super::json_settings::{Settings, add};
use super::{Arguments, Common, json_reader, json_writer};

/// The settings as they are now.
fn current(settings: &Mutex<Settings>) -> Settings {
    let settings = settings.lock().unwrap_or_else(|broken| broken.into_inner());
    settings.clone()
}

/// The table of the library, as scripts find it.
pub(super) fn library(lua: &Lua, shared: &Common) -> mlua::Result<Table> {
    let table = instance(lua, shared)?;
    let common = Common::clone(shared);
    let new = lua.create_function(move |lua, ()| instance(lua, &common))?;
    table.raw_set("new", new)?;
    Ok(table)
}

/// A table of the library with settings of its own, which `cjson.new` returns.
fn instance(lua: &Lua, shared: &Common) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    let settings = Arc::new(Mutex::new(Settings::default()));
    add(lua, &table, &settings, shared)?;
    table.raw_set("_NAME", "cjson")?;
    table.raw_set("_VERSION", "2.1.0")?;
    table.raw_set("null", Value::NULL)?;
    let (known, common) = (Arc::clone(&settings), Common::clone(shared));
    let encode = lua.create_function(move |lua, values: MultiValue| {
        let arguments = Arguments::new(lua, values);
        only_one(&arguments)?;
        let text = json_writer::write(&arguments, &current(&known), &common)?;
        lua.create_string(text)
    })?;
    table.raw_set("encode", encode)?;
    let (known, common) = (settings, Common::clone(shared));
    let decode = lua.create_function(move |lua, values: MultiValue| {
        let arguments = Arguments::new(lua, values);
        only_one(&arguments)?;
        json_reader::read(lua, &arguments, &current(&known), &common)
    })?;
    table.raw_set("decode", decode)?;
    Ok(table)
}

fn only_one(arguments: &Arguments<'_>) -> mlua::Result<()> {
    match arguments.count() {
        1 => Ok(()),
        _ => Err(arguments.bad(1, "expected 1 argument")),
    }
}
