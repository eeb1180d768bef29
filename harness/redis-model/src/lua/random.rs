//! Redis's random generator for scripts: every server starts with the same numbers.

use std::sync::{Arc, Mutex};

use mlua::{Function, Lua, MultiValue, Value};

use super::{Shared, lock};

/// The 48-bit linear congruential generator of `drand48`.
pub(super) struct Generator {
    state: u64,
}

const MASK: u64 = (1 << 48) - 1;

impl Default for Generator {
    fn default() -> Self {
        Generator {
            state: 0x1234_abcd_330e,
        }
    }
}

impl Generator {
    fn seeded(seed: i32) -> Generator {
        Generator {
            state: (u64::from(seed.cast_unsigned()) << 16) + 0x330e,
        }
    }

    /// A fraction from 0 (included) to 1 (excluded).
    fn next(&mut self) -> f64 {
        self.state = (self.state.wrapping_mul(0x5_deec_e66d) + 0xb) & MASK;
        let limit = f64::from(i32::MAX);
        f64::from((self.state >> 17) as i32 % i32::MAX) / limit
    }
}

/// An argument as C's `int`, as the original reads it.
fn limit(lua: &Lua, limits: &MultiValue, place: usize) -> mlua::Result<i32> {
    let value = limits.get(place).cloned().unwrap_or(Value::Nil);
    let kind = value.type_name();
    match lua.coerce_number(value)? {
        Some(number) => Ok(number as i64 as i32),
        None => Err(bad_argument(
            lua,
            place,
            &format!("number expected, got {kind}"),
        )),
    }
}

fn bad_argument(lua: &Lua, place: usize, why: &str) -> mlua::Error {
    located(
        lua,
        &format!("bad argument #{} to 'random' ({why})", place + 1),
    )
}

/// An error text that begins with the position in the script, as in Lua's own functions.
fn located(lua: &Lua, text: &str) -> mlua::Error {
    let line = lua.inspect_stack(1, |frame| frame.current_line()).flatten();
    mlua::Error::runtime(match line {
        Some(line) => format!("user_script:{line}: {text}"),
        None => text.to_owned(),
    })
}

/// `math.random`.
pub(super) fn function(lua: &Lua, shared: &Arc<Mutex<Shared>>) -> mlua::Result<Function> {
    let shared = Arc::clone(shared);
    lua.create_function(move |lua, limits: MultiValue| {
        let fraction = lock(&shared).random.next();
        let (low, high) = match limits.len() {
            0 => return Ok(fraction),
            1 => (1, limit(lua, &limits, 0)?),
            2 => (limit(lua, &limits, 0)?, limit(lua, &limits, 1)?),
            _ => return Err(located(lua, "wrong number of arguments")),
        };
        if low > high {
            return Err(bad_argument(lua, limits.len() - 1, "interval is empty"));
        }
        let width = f64::from(high.wrapping_sub(low).wrapping_add(1));
        Ok((fraction * width).floor() + f64::from(low))
    })
}

/// `math.randomseed`.
pub(super) fn seed_function(lua: &Lua, shared: &Arc<Mutex<Shared>>) -> mlua::Result<Function> {
    let shared = Arc::clone(shared);
    lua.create_function(move |_, seed: f64| {
        lock(&shared).random = Generator::seeded(seed as i64 as i32);
        Ok(())
    })
}
