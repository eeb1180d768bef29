//! From MessagePack to Lua values.

use mlua::{Lua, Table, Value};

use super::{Arguments, Common, MOST_RESULTS};
use crate::lua::{fuse, lock};

/// Deeper nesting is left out: the real limit is that of the Lua stack.
const DEEPEST: usize = 1000;

/// A table that is being filled.
struct Open {
    table: Table,
    /// Values that are still to come, keys among them.
    left: u64,
    /// The index that comes next in an array.
    index: Option<u64>,
    key: Option<Value>,
}

/// Reads values, without recursion.
pub(super) struct Reader<'a> {
    lua: &'a Lua,
    arguments: &'a Arguments<'a>,
    shared: &'a Common,
    text: &'a [u8],
    /// Behind what was read.
    pub at: usize,
    open: Vec<Open>,
}

/// What a head announces.
enum Item {
    Value(Value),
    Array(u64),
    Map(u64),
}

impl<'a> Reader<'a> {
    pub(super) fn new(
        lua: &'a Lua,
        arguments: &'a Arguments<'a>,
        shared: &'a Common,
        text: &'a [u8],
        at: usize,
    ) -> Reader<'a> {
        Reader {
            lua,
            arguments,
            shared,
            text,
            at,
            open: Vec::new(),
        }
    }

    /// The next values, at most so many.
    pub(super) fn values(&mut self, most: usize) -> mlua::Result<Vec<Value>> {
        let mut values = Vec::new();
        while self.at < self.text.len() && values.len() < most {
            if values.len() > MOST_RESULTS {
                let what = "cmsgpack.unpack with more than 4000 results";
                return Err(fuse::not_modelled(&mut lock(self.shared), what));
            }
            values.push(self.value()?);
        }
        Ok(values)
    }

    fn value(&mut self) -> mlua::Result<Value> {
        loop {
            let mut value = match self.item()? {
                Item::Value(value) => value,
                Item::Array(0) | Item::Map(0) => Value::Table(self.lua.create_table()?),
                Item::Array(left) => {
                    self.begin(left, Some(1))?;
                    continue;
                }
                Item::Map(pairs) => {
                    self.begin(pairs * 2, None)?;
                    continue;
                }
            };
            // A value may be the last one of the table around it, which is a value too.
            loop {
                let Some(open) = self.open.last_mut() else {
                    return Ok(value);
                };
                store(open, value)?;
                if open.left > 0 {
                    break;
                }
                let Some(open) = self.open.pop() else {
                    return Ok(Value::Nil);
                };
                value = Value::Table(open.table);
            }
        }
    }

    fn begin(&mut self, left: u64, index: Option<u64>) -> mlua::Result<()> {
        if self.open.len() >= DEEPEST {
            let what = "cmsgpack.unpack of more than 1000 nested values";
            return Err(fuse::not_modelled(&mut lock(self.shared), what));
        }
        self.open.push(Open {
            table: self.lua.create_table()?,
            left,
            index,
            key: None,
        });
        Ok(())
    }

    fn item(&mut self) -> mlua::Result<Item> {
        let head = self.bytes(1)?[0];
        Ok(match head {
            0x80..=0x8f => Item::Map(u64::from(head & 15)),
            0x90..=0x9f => Item::Array(u64::from(head & 15)),
            0xdc => Item::Array(self.unsigned(2)?),
            0xdd => Item::Array(self.unsigned(4)?),
            0xde => Item::Map(self.unsigned(2)?),
            0xdf => Item::Map(self.unsigned(4)?),
            _ => Item::Value(self.scalar(head)?),
        })
    }

    fn scalar(&mut self, head: u8) -> mlua::Result<Value> {
        let number = match head {
            0..=0x7f => f64::from(head),
            0xe0..=0xff => f64::from(head.cast_signed()),
            0xa0..=0xbf => return self.string(u64::from(head & 31)),
            0xc0 => return Ok(Value::Nil),
            0xc2 | 0xc3 => return Ok(Value::Boolean(head == 0xc3)),
            0xca => f64::from(f32::from_bits(self.unsigned(4)? as u32)),
            0xcb => f64::from_bits(self.unsigned(8)?),
            0xcc => self.unsigned(1)? as f64,
            0xcd => self.unsigned(2)? as f64,
            0xce => self.unsigned(4)? as f64,
            // Larger ones become negative.
            0xcf | 0xd3 => self.unsigned(8)?.cast_signed() as f64,
            0xd0 => f64::from(self.unsigned(1)? as i8),
            0xd1 => f64::from(self.unsigned(2)? as i16),
            0xd2 => f64::from(self.unsigned(4)? as i32),
            0xd9..=0xdb => {
                let length = self.unsigned(1 << (head - 0xd9))?;
                return self.string(length);
            }
            _ => return Err(self.arguments.error("Bad data format in input.")),
        };
        Ok(Value::Number(number))
    }

    fn string(&mut self, length: u64) -> mlua::Result<Value> {
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let text = self.bytes(length)?;
        Ok(Value::String(self.lua.create_string(text)?))
    }

    fn unsigned(&mut self, length: usize) -> mlua::Result<u64> {
        let bytes = self.bytes(length)?.iter();
        Ok(bytes.fold(0, |all, byte| (all << 8) | u64::from(*byte)))
    }

    fn bytes(&mut self, length: usize) -> mlua::Result<&'a [u8]> {
        let end = self.at.checked_add(length);
        let Some(bytes) = end.and_then(|end| self.text.get(self.at..end)) else {
            return Err(self.arguments.error("Missing bytes in input."));
        };
        fuse::charge(self.shared, 1 + length as u64)?;
        self.at += length;
        Ok(bytes)
    }
}

/// Puts a value into a table: an element, a key, or what belongs to the key before it.
fn store(open: &mut Open, value: Value) -> mlua::Result<()> {
    open.left -= 1;
    if let Some(index) = &mut open.index {
        let place = Value::Number(*index as f64);
        *index += 1;
        return open.table.raw_set(place, value);
    }
    match open.key.take() {
        None => open.key = Some(value),
        Some(Value::Nil) => return Err(mlua::Error::runtime("table index is nil")),
        Some(Value::Number(key)) if key.is_nan() => {
            return Err(mlua::Error::runtime("table index is NaN"));
        }
        Some(key) => open.table.raw_set(key, value)?,
    }
    Ok(())
}
