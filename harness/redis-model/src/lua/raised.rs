//! Errors that native functions raise in a script.

use std::fmt;

use mlua::{LightUserData, Lua, Table, Value};

use super::convert;

/// An error that Redis raises as a table with the text. Rust functions can only raise Rust errors, so the table is
/// created where the error is caught.
#[derive(Debug)]
pub(super) struct Raised(pub String);

impl fmt::Display for Raised {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Raised {}

impl Raised {
    /// Returns the error as the return value of a Rust function.
    pub(super) fn error(text: impl Into<String>) -> mlua::Error {
        mlua::Error::external(Raised(text.into()))
    }
}

/// Converts a raised value for a script: Rust errors become tables or texts.
pub(super) fn plain(lua: &Lua, raised: Value) -> mlua::Result<Value> {
    let Value::Error(error) = raised else {
        return Ok(raised);
    };
    for cause in error.chain() {
        if let Some(Raised(text)) = cause.downcast_ref::<Raised>() {
            return Ok(Value::Table(convert::error_table(lua, text.as_bytes())?));
        }
    }
    Ok(Value::String(lua.create_string(reason(&error))?))
}

/// Returns the text of an error without the text that the Lua binding adds.
fn reason(error: &mlua::Error) -> String {
    match error {
        mlua::Error::RuntimeError(text) => text.clone(),
        mlua::Error::CallbackError { cause, .. } => reason(cause),
        other => other.to_string(),
    }
}

/// Returns the key that marks the metatable of a protected table. Scripts cannot create it.
pub(super) fn readonly_mark() -> LightUserData {
    static MARK: u8 = 0;
    LightUserData((&raw const MARK).cast_mut().cast())
}

/// Returns an error if the table is one of Redis's protected tables. Their metatable does not stop native functions.
pub(super) fn check_writable(table: &Table) -> mlua::Result<()> {
    let readonly = match table.metatable() {
        Some(protection) => protection.raw_get::<bool>(readonly_mark())?,
        None => false,
    };
    if readonly {
        return Err(mlua::Error::runtime("Attempt to modify a readonly table"));
    }
    Ok(())
}
