//! From Lua values to MessagePack.

use mlua::{Table, Value};

use super::{Arguments, Common};
use crate::lua::convert::truncate;
use crate::lua::fuse;

/// Tables that are nested more deeply are written as nil.
const DEEPEST: usize = 16;

/// All arguments, one after the other.
pub(super) fn write(arguments: &Arguments<'_>, shared: &Common) -> mlua::Result<Vec<u8>> {
    if arguments.count() == 0 {
        return Err(arguments.bad(0, "MessagePack pack needs input."));
    }
    let mut out = Vec::new();
    for place in 1..=arguments.count() {
        value(&mut out, &arguments.get(place), 0, shared)?;
    }
    Ok(out)
}

fn value(out: &mut Vec<u8>, it: &Value, depth: usize, shared: &Common) -> mlua::Result<()> {
    fuse::charge(shared, 1)?;
    match it {
        Value::Boolean(true) => out.push(0xc3),
        Value::Boolean(false) => out.push(0xc2),
        Value::Integer(it) => number(out, *it as f64),
        Value::Number(it) => number(out, *it),
        Value::String(text) => {
            let text = text.as_bytes();
            fuse::charge(shared, text.len() as u64)?;
            match text.len() {
                length @ 0..32 => out.push(0xa0 | length as u8),
                length @ 32..256 => out.extend([0xd9, length as u8]),
                length => long_head(out, 0xda, length),
            }
            out.extend_from_slice(&text);
        }
        Value::Table(it) if depth < DEEPEST => table(out, it, depth, shared)?,
        _ => out.push(0xc0),
    }
    Ok(())
}

/// A head with a length of 16 bits, or the next head with one of 32.
fn long_head(out: &mut Vec<u8>, head: u8, length: usize) {
    match u16::try_from(length) {
        Ok(length) => {
            out.push(head);
            out.extend(length.to_be_bytes());
        }
        Err(_) => {
            out.push(head + 1);
            out.extend((length as u32).to_be_bytes());
        }
    }
}

fn table(out: &mut Vec<u8>, it: &Table, depth: usize, shared: &Common) -> mlua::Result<()> {
    let (mut count, mut most, mut is_array) = (0usize, 0.0, true);
    it.for_each(|key: Value, _: Value| {
        let key = match key {
            Value::Integer(key) => key as f64,
            Value::Number(key) => key,
            _ => 0.0,
        };
        is_array &= key >= 1.0 && key.fract() == 0.0;
        most = key.max(most);
        count += 1;
        fuse::charge(shared, 1)
    })?;
    let is_array = is_array && most == count as f64;
    let (short, long) = if is_array { (0x90, 0xdc) } else { (0x80, 0xde) };
    match count {
        0..16 => out.push(short | count as u8),
        _ => long_head(out, long, count),
    }
    if is_array {
        return (1..=count)
            .try_for_each(|place| value(out, &it.raw_get(place)?, depth + 1, shared));
    }
    it.for_each(|key: Value, item: Value| {
        value(out, &key, depth + 1, shared)?;
        value(out, &item, depth + 1, shared)
    })
}

fn number(out: &mut Vec<u8>, it: f64) {
    let whole = truncate(it);
    if whole as f64 != it || it >= 9_223_372_036_854_775_808.0 {
        let short = it as f32;
        if f64::from(short) == it {
            out.push(0xca);
            out.extend(short.to_be_bytes());
        } else {
            out.push(0xcb);
            out.extend(it.to_be_bytes());
        }
        return;
    }
    let bytes = whole.to_be_bytes();
    if (-32..0x80).contains(&whole) {
        return out.push(bytes[7]);
    }
    // The fewest bytes that hold it: one, two, four or eight.
    let fits = |power: &u8| match whole < 0 {
        true => whole >> ((8 << power) - 1) == -1,
        false => whole >> (8 << power) == 0,
    };
    let power = (0..3).find(fits).unwrap_or(3);
    out.push(power + if whole < 0 { 0xd0 } else { 0xcc });
    out.extend_from_slice(&bytes[8 - (1 << power)..]);
}
