//! `bit`: operations on the lower 32 bits of a number.

use mlua::{Lua, MultiValue, Table};

use super::{Arguments, Common};
use crate::ServerVersion;
use crate::lua::{Shared, fuse, lock};

/// Added to a number, this moves its whole part into the lowest bits, rounded to even.
const SHIFT: f64 = 6_755_399_441_055_744.0;

fn bits(arguments: &Arguments<'_>, place: usize) -> mlua::Result<u32> {
    Ok((arguments.number(place)? + SHIFT).to_bits() as u32)
}

/// A library function on bits.
type Operation = fn(&Arguments<'_>) -> mlua::Result<u32>;

const OPERATIONS: [(&str, Operation); 11] = [
    ("tobit", |it| bits(it, 1)),
    ("bnot", |it| Ok(!bits(it, 1)?)),
    ("bswap", |it| Ok(bits(it, 1)?.swap_bytes())),
    ("band", |it| fold(it, |one, other| one & other)),
    ("bor", |it| fold(it, |one, other| one | other)),
    ("bxor", |it| fold(it, |one, other| one ^ other)),
    ("lshift", |it| shift(it, u32::wrapping_shl)),
    ("rshift", |it| shift(it, u32::wrapping_shr)),
    ("arshift", |it| {
        shift(it, |one, by| {
            one.cast_signed().wrapping_shr(by).cast_unsigned()
        })
    }),
    ("rol", |it| shift(it, u32::rotate_left)),
    ("ror", |it| shift(it, u32::rotate_right)),
];

/// All arguments together. The last is looked at before the second, which decides which is complained
/// about.
fn fold(arguments: &Arguments<'_>, join: fn(u32, u32) -> u32) -> mlua::Result<u32> {
    let first = bits(arguments, 1)?;
    (2..=arguments.count())
        .rev()
        .try_fold(first, |all, place| Ok(join(all, bits(arguments, place)?)))
}

fn shift(arguments: &Arguments<'_>, by: fn(u32, u32) -> u32) -> mlua::Result<u32> {
    Ok(by(bits(arguments, 1)?, bits(arguments, 2)? & 31))
}

fn hexadecimal(
    arguments: &Arguments<'_>,
    shared: &std::sync::Mutex<Shared>,
    version: ServerVersion,
) -> mlua::Result<String> {
    let number = bits(arguments, 1)?;
    let digits = match arguments.count() {
        0 | 1 => 8,
        _ => bits(arguments, 2)?.cast_signed(),
    };
    if digits == i32::MIN && !version.since_70() {
        // The real server crashes.
        return Err(fuse::not_modelled(&mut lock(shared), "bit.tohex(n, -2^31)"));
    }
    let text = match digits < 0 {
        true => format!("{number:08X}"),
        false => format!("{number:08x}"),
    };
    let shown = digits.unsigned_abs().min(8) as usize;
    Ok(text[8 - shown..].to_owned())
}

/// The table of the library.
pub(super) fn library(lua: &Lua, shared: &Common, version: ServerVersion) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    for (name, operation) in OPERATIONS {
        let function = lua.create_function(move |lua, values: MultiValue| {
            let bits = operation(&Arguments::new(lua, values))?;
            Ok(f64::from(bits.cast_signed()))
        })?;
        table.raw_set(name, function)?;
    }
    let shared = Common::clone(shared);
    let function = lua.create_function(move |lua, values: MultiValue| {
        hexadecimal(&Arguments::new(lua, values), &shared, version)
    })?;
    table.raw_set("tohex", function)?;
    Ok(table)
}
