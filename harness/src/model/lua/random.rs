//! Redis's generator for scripts: every run of a script sees the same numbers.

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
        Generator::seeded(0)
    }
}

impl Generator {
    fn seeded(seed: i32) -> Generator {
        Generator {
            state: (u64::from(seed.cast_unsigned()) << 16) + 0x330e,
        }
    }

    /// A fraction from 0 up to, and without, 1.
    fn next(&mut self) -> f64 {
        self.state = (self.state.wrapping_mul(0x5_deec_e66d) + 0xb) & MASK;
        let limit = f64::from(i32::MAX);
        f64::from((self.state >> 17) as i32 % i32::MAX) / limit
    }
}

fn number(value: Option<&Value>) -> Option<f64> {
    match value? {
        Value::Integer(number) => Some(*number as f64),
        Value::Number(number) => Some(*number),
        Value::String(text) => text.to_string_lossy().trim().parse().ok(),
        _ => None,
    }
}

/// `math.random`.
pub(super) fn function(lua: &Lua, shared: &Arc<Mutex<Shared>>) -> mlua::Result<Function> {
    let shared = Arc::clone(shared);
    lua.create_function(move |_, limits: MultiValue| {
        let fraction = lock(&shared).random.next();
        let (low, high) = match limits.len() {
            0 => return Ok(fraction),
            1 => (Some(1.0), number(limits.get(0))),
            2 => (number(limits.get(0)), number(limits.get(1))),
            _ => return Err(mlua::Error::runtime("wrong number of arguments")),
        };
        match (low, high) {
            (Some(low), Some(high)) if low.trunc() <= high.trunc() => {
                let (low, high) = (low.trunc(), high.trunc());
                Ok((fraction * (high - low + 1.0)).floor() + low)
            }
            _ => Err(mlua::Error::runtime("interval is empty")),
        }
    })
}

/// `math.randomseed`.
pub(super) fn seed_function(lua: &Lua, shared: &Arc<Mutex<Shared>>) -> mlua::Result<Function> {
    let shared = Arc::clone(shared);
    lua.create_function(move |_, seed: i64| {
        lock(&shared).random = Generator::seeded(seed as i32);
        Ok(())
    })
}
