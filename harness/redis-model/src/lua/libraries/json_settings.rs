//! The settings of `cjson`, which scripts can change, and which then hold for later scripts too.

use mlua::{Lua, MultiValue, Table, Value};
use std::sync::{Arc, Mutex};

use super::{Arguments, Common};
use crate::lua::lock;

/// What `cjson` does with NaN and the infinities when it writes.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Invalid {
    Refused,
    Written,
    Null,
}

/// The settings of one instance of the library.
#[derive(Clone)]
pub(super) struct Settings {
    pub sparse_as_object: bool,
    pub sparse_ratio: i32,
    pub sparse_safe: i32,
    pub encode_depth: i32,
    pub decode_depth: i32,
    pub digits: i32,
    pub keep_buffer: bool,
    pub encode_invalid: Invalid,
    pub decode_invalid: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            sparse_as_object: false,
            sparse_ratio: 2,
            sparse_safe: 10,
            encode_depth: 1000,
            decode_depth: 1000,
            digits: 14,
            keep_buffer: true,
            encode_invalid: Invalid::Refused,
            decode_invalid: true,
        }
    }
}

/// A function that changes settings and returns what then holds.
type Change = fn(&Arguments<'_>, &mut Settings) -> mlua::Result<Vec<Value>>;

const CHANGES: [(&str, usize, Change); 7] = [
    ("encode_sparse_array", 3, |it, settings| {
        let convert = switch(it, 1, &mut settings.sparse_as_object)?;
        let ratio = integer(it, 2, &mut settings.sparse_ratio, 0, i32::MAX)?;
        let safe = integer(it, 3, &mut settings.sparse_safe, 0, i32::MAX)?;
        Ok(vec![convert, ratio, safe])
    }),
    ("encode_max_depth", 1, |it, settings| {
        Ok(vec![integer(
            it,
            1,
            &mut settings.encode_depth,
            1,
            i32::MAX,
        )?])
    }),
    ("decode_max_depth", 1, |it, settings| {
        Ok(vec![integer(
            it,
            1,
            &mut settings.decode_depth,
            1,
            i32::MAX,
        )?])
    }),
    ("encode_number_precision", 1, |it, settings| {
        Ok(vec![integer(it, 1, &mut settings.digits, 1, 14)?])
    }),
    ("encode_keep_buffer", 1, |it, settings| {
        Ok(vec![switch(it, 1, &mut settings.keep_buffer)?])
    }),
    ("decode_invalid_numbers", 1, |it, settings| {
        Ok(vec![switch(it, 1, &mut settings.decode_invalid)?])
    }),
    ("encode_invalid_numbers", 1, |it, settings| {
        match option(it, 1, &["off", "on", "null"])? {
            None => {}
            Some(0) => settings.encode_invalid = Invalid::Refused,
            Some(1) => settings.encode_invalid = Invalid::Written,
            Some(_) => settings.encode_invalid = Invalid::Null,
        }
        Ok(vec![match settings.encode_invalid {
            Invalid::Refused => Value::Boolean(false),
            Invalid::Written => Value::Boolean(true),
            Invalid::Null => it.new_text("null")?,
        }])
    }),
];

fn integer(
    arguments: &Arguments<'_>,
    place: usize,
    setting: &mut i32,
    least: i32,
    most: i32,
) -> mlua::Result<Value> {
    if !arguments.get(place).is_nil() {
        let value = arguments.int(place)?;
        if !(least..=most).contains(&value) {
            let why = format!("expected integer between {least} and {most}");
            return Err(arguments.bad(1, &why));
        }
        *setting = value;
    }
    Ok(Value::Number(f64::from(*setting)))
}

fn switch(arguments: &Arguments<'_>, place: usize, setting: &mut bool) -> mlua::Result<Value> {
    if let Some(choice) = option(arguments, place, &["off", "on"])? {
        *setting = choice == 1;
    }
    Ok(Value::Boolean(*setting))
}

/// Which of the words an argument is; true is the second, and false the first.
fn option(arguments: &Arguments<'_>, place: usize, words: &[&str]) -> mlua::Result<Option<usize>> {
    match arguments.get(place) {
        Value::Nil => return Ok(None),
        Value::Boolean(on) => return Ok(Some(usize::from(on))),
        _ => {}
    }
    let text = arguments.text(place)?;
    let text = text.as_bytes();
    // A C string ends at a zero byte.
    let word = text.split(|byte| *byte == 0).next().unwrap_or_default();
    match words.iter().position(|one| one.as_bytes() == word) {
        Some(choice) => Ok(Some(choice)),
        None => {
            let word = String::from_utf8_lossy(word);
            Err(arguments.bad(place, &format!("invalid option '{word}'")))
        }
    }
}

/// Adds the functions that change settings to a table of the library.
pub(super) fn add(
    lua: &Lua,
    table: &Table,
    settings: &Arc<Mutex<Settings>>,
    shared: &Common,
) -> mlua::Result<()> {
    for (name, most, change) in CHANGES {
        let (settings, shared) = (Arc::clone(settings), Common::clone(shared));
        let function = lua.create_function(move |lua, values: MultiValue| {
            let arguments = Arguments::new(lua, values);
            if arguments.count() > most {
                return Err(arguments.bad(most + 1, "found too many arguments"));
            }
            if arguments.count() > 0 {
                // What follows sees it: this Lua state is not for another server.
                lock(&shared).spoilt = true;
            }
            let mut settings = settings.lock().unwrap_or_else(|broken| broken.into_inner());
            Ok(MultiValue::from_vec(change(&arguments, &mut settings)?))
        })?;
        table.raw_set(name, function)?;
    }
    Ok(())
}
