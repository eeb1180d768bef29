//! `struct`: numbers and texts as the bytes of C structures.

use mlua::{Lua, MultiValue, Table, Value};

use super::argument::to_unsigned;
use super::packing_format::Format;
use super::{Arguments, Common, MOST_RESULTS};
use crate::lua::convert::truncate;
use crate::lua::{fuse, lock};

/// The table of the library.
pub(super) fn library(lua: &Lua, shared: &Common) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    let common = Common::clone(shared);
    let pack = lua.create_function(move |lua, values: MultiValue| {
        lua.create_string(pack(&Arguments::new(lua, values), &common)?)
    })?;
    table.raw_set("pack", pack)?;
    let common = Common::clone(shared);
    let unpack = lua.create_function(move |lua, values: MultiValue| {
        let results = unpack(lua, &Arguments::new(lua, values), &common)?;
        Ok(MultiValue::from_vec(results))
    })?;
    table.raw_set("unpack", unpack)?;
    let common = Common::clone(shared);
    let size = lua.create_function(move |lua, values: MultiValue| {
        size(&Arguments::new(lua, values), &common)
    })?;
    table.raw_set("size", size)?;
    Ok(table)
}

fn pack(arguments: &Arguments<'_>, shared: &Common) -> mlua::Result<Vec<u8>> {
    let text = arguments.text(1)?;
    let text = text.as_bytes();
    let (mut format, mut out, mut place) = (Format::new(arguments, &text), Vec::new(), 2);
    // The original has a nil behind the arguments.
    let given = Arguments::with_nil(arguments);
    while let Some(piece) = format.next()? {
        let padding = format.padding(out.len() as u64, &piece);
        out.extend((0..padding).map(|_| 0));
        fuse::charge(shared, 1 + piece.size + padding)?;
        match piece.option {
            b'b' | b'B' | b'h' | b'H' | b'l' | b'L' | b'T' | b'i' | b'I' => {
                let number = given.number(place)?;
                let value = match number < 0.0 {
                    true => truncate(number).cast_unsigned(),
                    false => to_unsigned(number),
                };
                let bytes = value.to_le_bytes();
                let bytes = (0..piece.size).map(|at| *bytes.get(at as usize).unwrap_or(&0));
                put(&mut out, bytes.collect(), format.little);
                place += 1;
            }
            b'x' => out.push(0),
            b'f' => {
                let bytes = (given.number(place)? as f32).to_le_bytes();
                put(&mut out, bytes.to_vec(), format.little);
                place += 1;
            }
            b'd' => {
                let bytes = given.number(place)?.to_le_bytes();
                put(&mut out, bytes.to_vec(), format.little);
                place += 1;
            }
            b'c' | b's' => {
                let text = given.text(place)?;
                let text = text.as_bytes();
                place += 1;
                let size = match piece.size {
                    0 => text.len(),
                    size => size as usize,
                };
                let Some(text) = text.get(..size) else {
                    return Err(given.bad(place, "string too short"));
                };
                fuse::charge(shared, text.len() as u64)?;
                out.extend_from_slice(text);
                if piece.option == b's' {
                    out.push(0);
                }
            }
            other => format.control(other)?,
        }
    }
    Ok(out)
}

fn put(out: &mut Vec<u8>, mut bytes: Vec<u8>, little: bool) {
    if !little {
        bytes.reverse();
    }
    out.extend(bytes);
}

fn size(arguments: &Arguments<'_>, shared: &Common) -> mlua::Result<f64> {
    let text = arguments.text(1)?;
    let text = text.as_bytes();
    fuse::charge(shared, text.len() as u64)?;
    let (mut format, mut total) = (Format::new(arguments, &text), 0u64);
    while let Some(piece) = format.next()? {
        total += format.padding(total, &piece);
        match (piece.option, piece.size) {
            (b's', _) => return Err(arguments.bad(1, "option 's' has no fixed size")),
            (b'c', 0) => return Err(arguments.bad(1, "option 'c0' has no fixed size")),
            (option, _) if !option.is_ascii_alphanumeric() => format.control(option)?,
            _ => {}
        }
        total += piece.size;
    }
    Ok(total as f64)
}

/// The bytes of one piece, if the data are long enough.
fn part<'a>(
    arguments: &Arguments<'_>,
    data: &'a [u8],
    position: u64,
    size: u64,
) -> mlua::Result<&'a [u8]> {
    let begin = usize::try_from(position).ok();
    let end = position
        .checked_add(size)
        .and_then(|end| usize::try_from(end).ok());
    let part = begin.zip(end).and_then(|(begin, end)| data.get(begin..end));
    part.ok_or_else(|| arguments.bad(2, "data string too short"))
}

fn unpack(lua: &Lua, arguments: &Arguments<'_>, shared: &Common) -> mlua::Result<Vec<Value>> {
    let (text, data) = (arguments.text(1)?, arguments.text(2)?);
    let (text, data) = (text.as_bytes(), data.as_bytes());
    let position = match arguments.get(3) {
        Value::Nil => 1,
        _ => truncate(arguments.number(3)?),
    };
    if position == 0 {
        return Err(arguments.bad(3, "offset must be 1 or greater"));
    }
    let mut position = position.wrapping_sub(1).cast_unsigned();
    let (mut format, mut results) = (Format::new(arguments, &text), Vec::new());
    while let Some(piece) = format.next()? {
        position = position.wrapping_add(format.padding(position, &piece));
        let bytes = part(arguments, &data, position, piece.size)?;
        fuse::charge(shared, 1 + piece.size)?;
        if results.len() > MOST_RESULTS {
            let what = "struct.unpack with more than 4000 results";
            return Err(fuse::not_modelled(&mut lock(shared), what));
        }
        let mut size = piece.size;
        match piece.option {
            b'b' | b'B' | b'h' | b'H' | b'l' | b'L' | b'T' | b'i' | b'I' => {
                let signed = piece.option.is_ascii_lowercase();
                results.push(Value::Number(integer(bytes, format.little, signed)));
            }
            b'x' => {}
            b'f' | b'd' => results.push(Value::Number(float(bytes, format.little))),
            b'c' => {
                let mut text = bytes;
                if size == 0 {
                    let number = results.pop().map(|last| lua.coerce_number(last));
                    let Some(number) = number.transpose()?.flatten() else {
                        return Err(arguments.error("format 'c0' needs a previous size"));
                    };
                    size = to_unsigned(number);
                    text = part(arguments, &data, position, size)?;
                }
                results.push(Value::String(lua.create_string(text)?));
            }
            b's' => {
                let begin = usize::try_from(position).unwrap_or(usize::MAX);
                let rest = data.get(begin..).unwrap_or_default();
                let Some(end) = rest.iter().position(|byte| *byte == 0) else {
                    return Err(arguments.error("unfinished string in data"));
                };
                results.push(Value::String(lua.create_string(&rest[..end])?));
                size = end as u64 + 1;
            }
            other => format.control(other)?,
        }
        position = position.wrapping_add(size);
    }
    results.push(Value::Number(position.wrapping_add(1).cast_signed() as f64));
    Ok(results)
}

fn integer(bytes: &[u8], little: bool, signed: bool) -> f64 {
    let join = |all: u64, byte: &u8| (all << 8) | u64::from(*byte);
    let mut value = match little {
        true => bytes.iter().rev().fold(0, join),
        false => bytes.iter().fold(0, join),
    };
    if !signed {
        return value as f64;
    }
    // For sizes above eight bytes as x86 shifts: by the distance modulo 64.
    let distance = (bytes.len() as u32).wrapping_mul(8).wrapping_sub(1);
    let mask = u64::MAX.wrapping_shl(distance);
    if value & mask != 0 {
        value |= mask;
    }
    value.cast_signed() as f64
}

fn float(bytes: &[u8], little: bool) -> f64 {
    let mut bytes = bytes.to_vec();
    if !little {
        bytes.reverse();
    }
    match (<[u8; 4]>::try_from(&*bytes), <[u8; 8]>::try_from(&*bytes)) {
        (Ok(bytes), _) => f64::from(f32::from_le_bytes(bytes)),
        (_, Ok(bytes)) => f64::from_le_bytes(bytes),
        _ => 0.0,
    }
}
