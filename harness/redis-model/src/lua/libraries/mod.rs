//! The libraries that Redis gives to scripts: `bit`, `cjson`, `cmsgpack` and `struct`.
//!
//! A Lua state gets a library when the first script names it, because most scripts name none. What a
//! library does in Rust counts as instructions: see [`super::fuse::charge`].

mod argument;
mod bit;
mod json;
mod json_reader;
mod json_settings;
mod json_text;
mod json_writer;
mod message_reader;
mod message_writer;
mod messagepack;
mod packing;
mod packing_format;

use std::sync::{Arc, Mutex};

use mlua::{Function, Lua, Table};

use super::Shared;
use crate::ServerVersion;

pub(super) use argument::Arguments;

/// More results than this at once are left out: the limit of the real Lua stack depends on what is on
/// it.
const MOST_RESULTS: usize = 4000;

/// What the functions of a library know.
type Common = Arc<Mutex<Shared>>;

/// The Lua function that makes a library when it is first named.
pub(super) fn function(
    lua: &Lua,
    shared: &Arc<Mutex<Shared>>,
    version: ServerVersion,
) -> mlua::Result<Function> {
    let shared = Arc::clone(shared);
    lua.create_function(
        move |lua, name: mlua::String| -> mlua::Result<Option<Table>> {
            Ok(Some(match &*name.as_bytes() {
                b"bit" => bit::library(lua, &shared, version)?,
                b"cjson" => json::library(lua, &shared)?,
                b"cmsgpack" => messagepack::library(lua, &shared, version)?,
                b"struct" => packing::library(lua, &shared)?,
                _ => return Ok(None),
            }))
        },
    )
}
