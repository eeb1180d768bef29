//! The arguments of a function, and the errors about them in the words of Lua's own library.

use mlua::{Lua, MultiValue, Value};

use crate::lua::convert::truncate;

/// What a function was called with. Places count from one, as in Lua's errors.
pub(in crate::lua) struct Arguments<'a> {
    lua: &'a Lua,
    values: MultiValue,
}

impl<'a> Arguments<'a> {
    pub(in crate::lua) fn new(lua: &'a Lua, values: MultiValue) -> Arguments<'a> {
        Arguments { lua, values }
    }

    /// The Lua state of the function.
    pub(super) fn lua(&self) -> &'a Lua {
        self.lua
    }

    /// The same with a nil behind the last one, which some functions take for missing arguments.
    pub(super) fn with_nil(of: &Arguments<'a>) -> Arguments<'a> {
        let mut values = of.values.clone();
        values.push_back(Value::Nil);
        Arguments {
            lua: of.lua,
            values,
        }
    }

    pub(in crate::lua) fn count(&self) -> usize {
        self.values.len()
    }

    /// The argument, nil if it is not there.
    pub(in crate::lua) fn get(&self, place: usize) -> Value {
        let value = place.checked_sub(1).and_then(|at| self.values.get(at));
        value.cloned().unwrap_or(Value::Nil)
    }

    /// A number, or a text that is one.
    pub(in crate::lua) fn number(&self, place: usize) -> mlua::Result<f64> {
        match self.lua.coerce_number(self.get(place))? {
            Some(number) => Ok(number),
            None => Err(self.wrong_type(place, "number")),
        }
    }

    /// A number as C's `int`.
    pub(in crate::lua) fn int(&self, place: usize) -> mlua::Result<i32> {
        Ok(truncate(self.number(place)?) as i32)
    }

    /// A number as an integer of 64 bits.
    pub(super) fn integer(&self, place: usize) -> mlua::Result<i64> {
        Ok(truncate(self.number(place)?))
    }

    /// The same, or what counts without the argument.
    pub(super) fn integer_or(&self, place: usize, without: i64) -> mlua::Result<i64> {
        match self.get(place) {
            Value::Nil => Ok(without),
            _ => self.integer(place),
        }
    }

    /// A text, or a number as text.
    pub(in crate::lua) fn text(&self, place: usize) -> mlua::Result<mlua::String> {
        let value = self.get(place);
        if let Value::Nil = value {
            return Err(self.wrong_type(place, "string"));
        }
        match self.lua.coerce_string(value)? {
            Some(text) => Ok(text),
            None => Err(self.wrong_type(place, "string")),
        }
    }

    /// A new text in the same Lua state.
    pub(super) fn new_text(&self, text: &str) -> mlua::Result<Value> {
        Ok(Value::String(self.lua.create_string(text)?))
    }

    /// An argument of another type than is expected.
    pub(in crate::lua) fn wrong_type(&self, place: usize, expected: &str) -> mlua::Error {
        let got = match place > self.count() {
            true => "no value",
            false => type_name(&self.get(place)),
        };
        self.bad(place, &format!("{expected} expected, got {got}"))
    }

    /// An error about one argument, with the name by which the function was called.
    pub(in crate::lua) fn bad(&self, place: usize, why: &str) -> mlua::Error {
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

    /// An error with the place in the script that called the function.
    pub(in crate::lua) fn error(&self, text: &str) -> mlua::Error {
        let place = self.lua.inspect_stack(1, |frame| {
            let line = frame.current_line()?;
            Some(format!("{}:{line}: ", frame.source().short_src?))
        });
        let place = place.flatten().unwrap_or_default();
        mlua::Error::runtime(format!("{place}{text}"))
    }
}

/// The name of a type as Lua itself says it.
pub(in crate::lua) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::LightUserData(_) | Value::Error(_) => "userdata",
        Value::Integer(_) => "number",
        other => other.type_name(),
    }
}

/// A Lua number as C converts it to an unsigned integer of 64 bits on x86.
pub(super) fn to_unsigned(number: f64) -> u64 {
    const TOP: f64 = 9_223_372_036_854_775_808.0;
    if number >= TOP {
        return if number < 2.0 * TOP { number as u64 } else { 0 };
    }
    truncate(number).cast_unsigned()
}
