//! From Lua values to JSON.

use mlua::{Function, Table, Value};

use super::argument::type_name;
use super::json_settings::{Invalid, Settings};
use super::{Arguments, Common};
use crate::lua::{fuse, lock};
use crate::number::general_digits;

/// Deeper nesting, which a script must ask for, is left out: the real limit is that of the Lua stack.
const DEEPEST: usize = 1000;

/// A table that is being written.
enum Open {
    /// The table, the index that comes next, and the last one.
    Array(Table, i64, i64),
    /// The table, and the key that was written last. Lua keeps few handles at once, so the pairs are
    /// asked for one by one.
    Object(Table, Value),
}

struct Writer<'a> {
    arguments: &'a Arguments<'a>,
    settings: &'a Settings,
    shared: &'a Common,
    /// Lua's own `next`.
    next: Function,
    text: Vec<u8>,
    open: Vec<Open>,
}

/// The JSON text of the only argument. Without recursion: tables may be nested deeply.
pub(super) fn write(
    arguments: &Arguments<'_>,
    settings: &Settings,
    shared: &Common,
) -> mlua::Result<Vec<u8>> {
    let mut writer = Writer {
        arguments,
        settings,
        shared,
        next: arguments.lua().globals().raw_get("next")?,
        text: Vec::new(),
        open: Vec::new(),
    };
    let mut next = Some(arguments.get(1));
    while let Some(value) = next {
        writer.value(value)?;
        next = writer.following()?;
    }
    Ok(writer.text)
}

impl Writer<'_> {
    fn value(&mut self, value: Value) -> mlua::Result<()> {
        fuse::charge(self.shared, 1)?;
        match value {
            Value::Nil => self.text.extend(b"null"),
            Value::Boolean(true) => self.text.extend(b"true"),
            Value::Boolean(false) => self.text.extend(b"false"),
            Value::Integer(number) => self.number(number as f64)?,
            Value::Number(number) => self.number(number)?,
            Value::String(text) => self.string(&text.as_bytes())?,
            Value::LightUserData(pointer) if pointer.0.is_null() => self.text.extend(b"null"),
            Value::Table(table) => self.table(table)?,
            other => return Err(self.cannot(type_name(&other), "type not supported")),
        }
        Ok(())
    }

    /// Goes on with the innermost table: its next value, after what stands before it.
    fn following(&mut self) -> mlua::Result<Option<Value>> {
        loop {
            let (next, end) = match self.open.last_mut() {
                None => return Ok(None),
                Some(Open::Array(table, index, last)) if *index <= *last => {
                    if *index > 1 {
                        self.text.push(b',');
                    }
                    *index += 1;
                    return table.raw_get(*index - 1).map(Some);
                }
                Some(Open::Array(..)) => (None, b']'),
                Some(Open::Object(table, last)) => {
                    let (key, value): (Value, Value) = self.next.call((&*table, &*last))?;
                    if !key.is_nil() && !last.is_nil() {
                        self.text.push(b',');
                    }
                    *last = key.clone();
                    ((!key.is_nil()).then_some((key, value)), b'}')
                }
            };
            let Some((key, value)) = next else {
                self.text.push(end);
                self.open.pop();
                continue;
            };
            self.key(&key)?;
            return Ok(Some(value));
        }
    }

    fn table(&mut self, table: Table) -> mlua::Result<()> {
        let depth = self.open.len() + 1;
        if depth > usize::try_from(self.settings.encode_depth).unwrap_or(0) {
            let text = format!("Cannot serialise, excessive nesting ({depth})");
            return Err(self.arguments.error(&text));
        }
        if depth > DEEPEST {
            let what = "cjson.encode of more than 1000 nested tables";
            return Err(fuse::not_modelled(&mut lock(self.shared), what));
        }
        let last = self.length(&table)?;
        if last > 0 {
            self.text.push(b'[');
            self.open.push(Open::Array(table, 1, i64::from(last)));
            return Ok(());
        }
        self.text.push(b'{');
        self.open.push(Open::Object(table, Value::Nil));
        Ok(())
    }

    /// The length of a table that is written as an array; at most zero: it is an object.
    fn length(&self, table: &Table) -> mlua::Result<i32> {
        let (mut most, mut count, mut is_array) = (0i32, 0i32, true);
        table.for_each(|key: Value, _: Value| {
            let number = match key {
                Value::Integer(number) => number as f64,
                Value::Number(number) => number,
                _ => 0.0,
            };
            if number < 1.0 || number.floor() != number {
                is_array = false;
            }
            if f64::from(most) < number {
                // As C converts it on x86: what is out of range is the smallest.
                let fits = number <= f64::from(i32::MAX);
                most = if fits { number as i32 } else { i32::MIN };
            }
            count = count.saturating_add(1);
            fuse::charge(self.shared, 1)
        })?;
        if !is_array {
            return Ok(-1);
        }
        let Settings {
            sparse_ratio: ratio,
            sparse_safe: safe,
            ..
        } = *self.settings;
        if ratio > 0 && most > count.wrapping_mul(ratio) && most > safe {
            if self.settings.sparse_as_object {
                return Ok(-1);
            }
            return Err(self.cannot("table", "excessively sparse array"));
        }
        Ok(most)
    }

    fn key(&mut self, key: &Value) -> mlua::Result<()> {
        let number = match key {
            Value::String(text) => {
                self.string(&text.as_bytes())?;
                self.text.push(b':');
                return Ok(());
            }
            Value::Integer(number) => *number as f64,
            Value::Number(number) => *number,
            other => {
                let why = "table key must be a number or string";
                return Err(self.cannot(type_name(other), why));
            }
        };
        self.text.push(b'"');
        self.number(number)?;
        self.text.extend(b"\":");
        Ok(())
    }

    fn number(&mut self, number: f64) -> mlua::Result<()> {
        if !number.is_finite() {
            match self.settings.encode_invalid {
                Invalid::Refused => {
                    return Err(self.cannot("number", "must not be NaN or Inf"));
                }
                Invalid::Null => {
                    self.text.extend(b"null");
                    return Ok(());
                }
                Invalid::Written if number.is_nan() => {
                    self.text.extend(b"nan");
                    return Ok(());
                }
                Invalid::Written => {}
            }
        }
        let digits = usize::try_from(self.settings.digits).unwrap_or(14);
        self.text.extend(general_digits(number, digits).bytes());
        Ok(())
    }

    fn string(&mut self, text: &[u8]) -> mlua::Result<()> {
        fuse::charge(self.shared, text.len() as u64)?;
        super::json_text::quote(&mut self.text, text);
        Ok(())
    }

    fn cannot(&self, kind: &str, why: &str) -> mlua::Error {
        let text = format!("Cannot serialise {kind}: {why}");
        self.arguments.error(&text)
    }
}
