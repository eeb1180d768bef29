//! The arguments of a function call, and the errors that Lua's own library raises about arguments.

use mlua::{Lua, MultiValue, Value};

use super::convert::truncate;

/// The arguments of a call. Positions (`place`) count from one, as in Lua's errors.
pub(super) struct Arguments<'a> {
    lua: &'a Lua,
    values: MultiValue,
}

impl<'a> Arguments<'a> {
    pub(super) fn new(lua: &'a Lua, values: MultiValue) -> Arguments<'a> {
        Arguments { lua, values }
    }

    pub(super) fn count(&self) -> usize {
        self.values.len()
    }

    /// Returns the argument, or nil if it is missing.
    pub(super) fn get(&self, place: usize) -> Value {
        let value = place.checked_sub(1).and_then(|at| self.values.get(at));
        value.cloned().unwrap_or(Value::Nil)
    }

    /// Returns the argument as a number. Text that represents a number is converted.
    pub(super) fn number(&self, place: usize) -> mlua::Result<f64> {
        let number = self.lua.coerce_number(self.get(place))?;
        number.ok_or_else(|| self.wrong_type(place, "number"))
    }

    /// Returns the argument as C's `int`.
    pub(super) fn int(&self, place: usize) -> mlua::Result<i32> {
        Ok(truncate(self.number(place)?) as i32)
    }

    /// Returns the argument as text. A number is converted.
    pub(super) fn text(&self, place: usize) -> mlua::Result<mlua::String> {
        let text = self.lua.coerce_string(self.get(place))?;
        text.ok_or_else(|| self.wrong_type(place, "string"))
    }

    /// Returns the error for an argument of an unexpected type.
    pub(super) fn wrong_type(&self, place: usize, expected: &str) -> mlua::Error {
        let got = if place > self.count() {
            "no value"
        } else {
            type_name(&self.get(place))
        };
        self.bad(place, &format!("{expected} expected, got {got}"))
    }

    /// Returns an error about one argument. The text contains the name by which the function was called.
    pub(super) fn bad(&self, place: usize, why: &str) -> mlua::Error {
        let names = self.lua.inspect_stack(0, |frame| {
            let names = frame.names();
            (
                names.name.map(|name| name.into_owned()),
                names.name_what == Some("method"),
            )
        });
        let (name, is_method) = names.unwrap_or((None, false));
        let name = name.as_deref().unwrap_or("?");
        let text = match (is_method, place) {
            (true, 1) => format!("calling '{name}' on bad self ({why})"),
            (true, place) => format!("bad argument #{} to '{name}' ({why})", place - 1),
            (false, place) => format!("bad argument #{place} to '{name}' ({why})"),
        };
        self.error(&text)
    }

    /// Returns an error whose text begins with the position of the call in the script.
    pub(super) fn error(&self, text: &str) -> mlua::Error {
        let place = self.lua.inspect_stack(1, |frame| {
            let line = frame.current_line()?;
            Some(format!("{}:{line}: ", frame.source().short_src?))
        });
        let place = place.flatten().unwrap_or_default();
        mlua::Error::runtime(format!("{place}{text}"))
    }
}

/// Returns Lua's own name of the type.
pub(super) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::LightUserData(_) | Value::Error(_) => "userdata",
        Value::Integer(_) => "number",
        other => other.type_name(),
    }
}
