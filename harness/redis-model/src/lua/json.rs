//! `cjson.encode` and `cjson.decode`, to the extent that locks use JSON.
//!
//! The library is added to a Lua state when the first script mentions it, because most scripts do not use it. Its work
//! counts as instructions; see [`fuse::charge`].

use std::sync::{Arc, Mutex};

use mlua::{Function, Lua, MultiValue, Table, Value};

use super::arguments::{Arguments, type_name};
use super::{Shared, fuse, json_text};
use crate::number::general_digits;

/// Maximum nesting. Deeper values are not modelled.
const DEEPEST: usize = 100;

/// Number of significant digits of a formatted number.
const DIGITS: usize = 14;

/// Creates the Lua function that returns the library.
pub(super) fn function(lua: &Lua, shared: &Arc<Mutex<Shared>>) -> mlua::Result<Function> {
    let shared = Arc::clone(shared);
    lua.create_function(move |lua, ()| {
        let table = lua.create_table()?;
        table.raw_set("null", Value::NULL)?;
        let common = Arc::clone(&shared);
        let encode = lua.create_function(move |lua, values: MultiValue| {
            let mut writer = Writer {
                arguments: single_argument(Arguments::new(lua, values))?,
                shared: &common,
                text: Vec::new(),
            };
            writer.value(&writer.arguments.get(1), 0)?;
            lua.create_string(writer.text)
        })?;
        table.raw_set("encode", encode)?;
        let common = Arc::clone(&shared);
        let decode = lua.create_function(move |lua, values: MultiValue| {
            let arguments = single_argument(Arguments::new(lua, values))?;
            let text = arguments.text(1)?;
            fuse::charge(&common, text.as_bytes().len() as u64)?;
            let mut reader = Reader {
                lua,
                arguments: &arguments,
                shared: &common,
                text: &text.as_bytes(),
                at: 0,
            };
            reader.document()
        })?;
        table.raw_set("decode", decode)?;
        Ok(table)
    })
}

fn single_argument(arguments: Arguments<'_>) -> mlua::Result<Arguments<'_>> {
    match arguments.count() {
        1 => Ok(arguments),
        _ => Err(arguments.bad(1, "expected 1 argument")),
    }
}

struct Writer<'a> {
    arguments: Arguments<'a>,
    shared: &'a Mutex<Shared>,
    text: Vec<u8>,
}

impl Writer<'_> {
    fn value(&mut self, value: &Value, depth: usize) -> mlua::Result<()> {
        fuse::charge(self.shared, 1)?;
        match value {
            Value::Nil => self.text.extend(b"null"),
            Value::Boolean(true) => self.text.extend(b"true"),
            Value::Boolean(false) => self.text.extend(b"false"),
            Value::Integer(number) => self.number(*number as f64)?,
            Value::Number(number) => self.number(*number)?,
            Value::String(text) => self.string(&text.as_bytes())?,
            Value::LightUserData(pointer) if pointer.0.is_null() => self.text.extend(b"null"),
            Value::Table(_) if depth == DEEPEST => {
                let what = "cjson.encode of more than 100 nested tables";
                return Err(fuse::not_modelled(self.shared, what));
            }
            Value::Table(table) => self.table(table, depth + 1)?,
            other => return Err(self.cannot(type_name(other), "type not supported")),
        }
        Ok(())
    }

    fn table(&mut self, table: &Table, depth: usize) -> mlua::Result<()> {
        let length = self.length(table)?;
        if length > 0 {
            for place in 1..=length {
                self.text.push(if place == 1 { b'[' } else { b',' });
                self.value(&table.raw_get(place)?, depth)?;
            }
            self.text.push(b']');
            return Ok(());
        }
        self.text.push(b'{');
        let mut is_first = true;
        table.for_each(|key: Value, value: Value| {
            if !std::mem::take(&mut is_first) {
                self.text.push(b',');
            }
            match &key {
                Value::String(text) => self.string(&text.as_bytes())?,
                Value::Integer(_) | Value::Number(_) => {
                    self.text.push(b'"');
                    self.value(&key, depth)?;
                    self.text.push(b'"');
                }
                other => {
                    let why = "table key must be a number or string";
                    return Err(self.cannot(type_name(other), why));
                }
            }
            self.text.push(b':');
            self.value(&value, depth)
        })?;
        self.text.push(b'}');
        Ok(())
    }

    /// Returns the length of a table that is encoded as an array, or zero if it is encoded as an object.
    fn length(&self, table: &Table) -> mlua::Result<i64> {
        let (mut max, mut count, mut is_array) = (0, 0i64, true);
        table.for_each(|key: Value, _: Value| {
            count += 1;
            match key {
                Value::Integer(place) if place > 0 => max = max.max(place),
                _ => is_array = false,
            }
            fuse::charge(self.shared, 1)
        })?;
        if is_array && max > count * 2 && max > 10 {
            return Err(self.cannot("table", "excessively sparse array"));
        }
        Ok(if is_array { max } else { 0 })
    }

    fn number(&mut self, number: f64) -> mlua::Result<()> {
        if !number.is_finite() {
            return Err(self.cannot("number", "must not be NaN or Inf"));
        }
        self.text.extend(general_digits(number, DIGITS).bytes());
        Ok(())
    }

    fn string(&mut self, text: &[u8]) -> mlua::Result<()> {
        fuse::charge(self.shared, text.len() as u64)?;
        json_text::quote(&mut self.text, text);
        Ok(())
    }

    fn cannot(&self, kind: &str, why: &str) -> mlua::Error {
        let text = format!("Cannot serialise {kind}: {why}");
        self.arguments.error(&text)
    }
}

struct Reader<'a> {
    lua: &'a Lua,
    arguments: &'a Arguments<'a>,
    shared: &'a Mutex<Shared>,
    text: &'a [u8],
    /// Position of the next byte.
    at: usize,
}

impl Reader<'_> {
    fn document(&mut self) -> mlua::Result<Value> {
        if self.text.len() > 1 && self.text[..2].contains(&0) {
            return Err(self.expected("neither UTF-16 nor UTF-32"));
        }
        let value = self.value(0)?;
        match self.next() {
            None => Ok(value),
            Some(_) => Err(self.expected("the end")),
        }
    }

    /// Skips blanks, and returns the next byte without consuming it. A zero byte ends the text.
    fn next(&mut self) -> Option<u8> {
        let rest = &self.text[self.at..];
        let blanks = rest.iter().take_while(|byte| b" \t\r\n".contains(byte));
        self.at += blanks.count();
        self.text.get(self.at).copied().filter(|byte| *byte != 0)
    }

    /// Consumes the next byte if it equals `wanted`.
    fn found(&mut self, wanted: u8) -> bool {
        let found = self.next() == Some(wanted);
        self.at += usize::from(found);
        found
    }

    fn value(&mut self, depth: usize) -> mlua::Result<Value> {
        let first = self.next();
        let rest = &self.text[self.at..];
        match first {
            Some(b'{' | b'[') if depth == DEEPEST => {
                let what = "cjson.decode of more than 100 nested values";
                Err(fuse::not_modelled(self.shared, what))
            }
            Some(b'{') => self.object(depth + 1).map(Value::Table),
            Some(b'[') => self.array(depth + 1).map(Value::Table),
            Some(b'"') => self.string().map(Value::String),
            Some(b'-' | b'+' | b'0'..=b'9') => self.number().map(Value::Number),
            _ if is_infinite_or_none(rest) => Err(self.unusual_number()),
            _ => {
                let words: [(&[u8], Value); 3] = [
                    (b"true", Value::Boolean(true)),
                    (b"false", Value::Boolean(false)),
                    (b"null", Value::NULL),
                ];
                let found = words.into_iter().find(|(word, _)| rest.starts_with(word));
                let (word, value) = found.ok_or_else(|| self.expected("value"))?;
                self.at += word.len();
                Ok(value)
            }
        }
    }

    fn object(&mut self, depth: usize) -> mlua::Result<Table> {
        let table = self.lua.create_table()?;
        self.at += 1;
        if self.found(b'}') {
            return Ok(table);
        }
        loop {
            if self.next() != Some(b'"') {
                return Err(self.expected("object key string"));
            }
            let key = self.string()?;
            if !self.found(b':') {
                return Err(self.expected("colon"));
            }
            table.raw_set(key, self.value(depth)?)?;
            if self.found(b'}') {
                return Ok(table);
            }
            if !self.found(b',') {
                return Err(self.expected("comma or object end"));
            }
        }
    }

    fn array(&mut self, depth: usize) -> mlua::Result<Table> {
        let table = self.lua.create_table()?;
        self.at += 1;
        if self.found(b']') {
            return Ok(table);
        }
        for place in 1.. {
            table.raw_seti(place, self.value(depth)?)?;
            if self.found(b']') {
                break;
            }
            if !self.found(b',') {
                return Err(self.expected("comma or array end"));
            }
        }
        Ok(table)
    }

    fn string(&mut self) -> mlua::Result<mlua::String> {
        let unquoted = json_text::unquote(self.text, self.at + 1);
        let (said, end) = unquoted.ok_or_else(|| self.expected("string"))?;
        self.at = end;
        self.lua.create_string(said)
    }

    fn number(&mut self) -> mlua::Result<f64> {
        let rest = &self.text[self.at..];
        let belongs = |byte: &&u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
        let length = rest.iter().take_while(belongs).count();
        let text = String::from_utf8_lossy(&rest[..length]);
        let digits = text.strip_prefix('-').unwrap_or(&text);
        let leading_zero = digits.starts_with('0')
            && digits[1..].starts_with(|first: char| first.is_ascii_digit());
        let plain = digits.starts_with(|first: char| first.is_ascii_digit()) && !leading_zero;
        let number = text.parse().ok().filter(|_| plain);
        let number = number.ok_or_else(|| self.unusual_number())?;
        self.at += length;
        Ok(number)
    }

    /// Returns the error for a number that `cjson` accepts although JSON does not allow it: a hexadecimal or infinite
    /// number, or one with a leading zero.
    fn unusual_number(&self) -> mlua::Error {
        fuse::not_modelled(self.shared, "such a number in cjson.decode")
    }

    fn expected(&self, what: &str) -> mlua::Error {
        let text = format!("Expected {what} at character {}", self.at + 1);
        self.arguments.error(&text)
    }
}

/// Returns `true` for a word that C parses as infinity or NaN.
fn is_infinite_or_none(text: &[u8]) -> bool {
    let begin = text.get(..3).map(<[u8]>::to_ascii_lowercase);
    begin.is_some_and(|word| word == b"inf" || word == b"nan")
}
