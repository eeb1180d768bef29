//! `table.insert`, which must not bypass the protection of Redis's tables.

use std::sync::{Arc, Mutex};

use mlua::{Function, Lua, MultiValue, Table, Value};

use super::arguments::Arguments;
use super::{Shared, fuse, raised};

/// Creates the function for scripts. The function raises the same errors as Lua's own function, and calls that function
/// to insert the value.
pub(super) fn function(lua: &Lua, shared: &Arc<Mutex<Shared>>) -> mlua::Result<Function> {
    let own: Function = lua.globals().get::<Table>("table")?.raw_get("insert")?;
    let shared = Arc::clone(shared);
    lua.create_function(move |lua, values: MultiValue| {
        let arguments = Arguments::new(lua, values);
        let Value::Table(table) = arguments.get(1) else {
            return Err(arguments.wrong_type(1, "table"));
        };
        match arguments.count() {
            2 => {
                raised::check_writable(&table)?;
                table.raw_set(table.raw_len() + 1, arguments.get(2))
            }
            3 => {
                let place = arguments.int(2)?;
                raised::check_writable(&table)?;
                // The insertion moves all following elements, which the fuse cannot interrupt, so it is counted in
                // advance.
                let end = i64::try_from(table.raw_len()).unwrap_or(i64::MAX);
                let moved = end.saturating_sub(i64::from(place)).max(0);
                fuse::charge(&shared, moved.cast_unsigned())?;
                own.call((table, place, arguments.get(3)))
            }
            _ => Err(arguments.error("wrong number of arguments to 'insert'")),
        }
    })
}
