//! The 80-bit `long double` that x86 servers use for `INCRBYFLOAT`.
//!
//! A 64-bit double would round differently, and clients see the digits.

use super::context::Context;
use super::reply::Refusal;

/// A number: mantissa times two to the exponent. The mantissa's top bit is set unless it is zero.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct LongDouble {
    negative: bool,
    mantissa: u64,
    exponent: i32,
}

/// Digits after the decimal point that Redis writes.
const DECIMALS: u32 = 17;

impl LongDouble {
    /// Reads a decimal number. `None` if the text is not one. Numbers of more than 18 digits are
    /// not modelled.
    pub(super) fn read(
        context: &mut Context<'_>,
        text: &[u8],
    ) -> Result<Option<LongDouble>, Refusal> {
        let Some(decimal) = Decimal::read(text) else {
            let word = text.to_ascii_lowercase();
            let special = ["inf", "nan", "0x"].iter().any(|part| {
                word.windows(part.len())
                    .any(|window| window == part.as_bytes())
            });
            return if special {
                Err(context.not_modelled("INCRBYFLOAT with such a number"))
            } else {
                Ok(None)
            };
        };
        match decimal.rounded() {
            Some(number) => Ok(Some(number)),
            None => Err(context.not_modelled("INCRBYFLOAT with more than 18 digits")),
        }
    }

    /// The sum, rounded once.
    pub(super) fn plus(self, other: LongDouble) -> LongDouble {
        let (large, small) =
            if self.exponent >= other.exponent && self.mantissa != 0 || other.mantissa == 0 {
                (self, other)
            } else {
                (other, self)
            };
        const ROOM: i32 = 62;
        let wide = u128::from(large.mantissa) << ROOM;
        let shift = (large.exponent - small.exponent).unsigned_abs();
        let narrow = shift_right_sticky(u128::from(small.mantissa) << ROOM, shift);
        let exponent = large.exponent - ROOM;
        if large.negative == small.negative {
            round(large.negative, wide + narrow, exponent)
        } else if wide >= narrow {
            round(large.negative, wide - narrow, exponent)
        } else {
            round(small.negative, narrow - wide, exponent)
        }
    }

    /// The number as Redis writes it: up to 17 digits after the point, without trailing zeros.
    pub(super) fn text(self, context: &mut Context<'_>) -> Result<String, Refusal> {
        let unit = 10u128.pow(DECIMALS);
        let (whole, fraction) = if self.exponent >= 0 {
            if self.exponent > 63 {
                return Err(context.not_modelled("INCRBYFLOAT with more than 18 digits"));
            }
            (u128::from(self.mantissa) << self.exponent, 0)
        } else {
            let scaled = u128::from(self.mantissa) * unit;
            let scaled = shift_right_even(scaled, self.exponent.unsigned_abs());
            (scaled / unit, scaled % unit)
        };
        let fraction = format!("{fraction:0width$}", width = DECIMALS as usize);
        let fraction = fraction.trim_end_matches('0');
        let point = if fraction.is_empty() { "" } else { "." };
        let number = format!("{whole}{point}{fraction}");
        let sign = if self.negative && number != "0" {
            "-"
        } else {
            ""
        };
        Ok(format!("{sign}{number}"))
    }
}

/// A decimal number as it was written.
struct Decimal {
    negative: bool,
    /// All digits without the point. `None` if there are too many.
    digits: Option<u64>,
    /// Power of ten.
    scale: i32,
}

impl Decimal {
    fn read(text: &[u8]) -> Option<Decimal> {
        let text = std::str::from_utf8(text).ok()?;
        let (negative, body) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let (mantissa, exponent) = match body.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
            None => (body, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all = format!("{whole}{fraction}");
        if all.is_empty() || !all.bytes().all(|digit| digit.is_ascii_digit()) {
            return None;
        }
        let decimals = i32::try_from(fraction.len()).ok()?;
        Some(Decimal {
            negative,
            digits: all.parse().ok(),
            scale: exponent.checked_sub(decimals)?,
        })
    }

    /// The nearest number with 64 bits, ties to even.
    fn rounded(&self) -> Option<LongDouble> {
        let digits = u128::from(self.digits?);
        if digits == 0 {
            return Some(round(self.negative, 0, 0));
        }
        if !(-18..=18).contains(&self.scale) {
            return None;
        }
        let power = 10u128.pow(self.scale.unsigned_abs());
        if self.scale >= 0 {
            return Some(round(self.negative, digits * power, 0));
        }
        let shift = digits.leading_zeros();
        let wide = digits << shift;
        // The remainder only matters as "more than zero".
        let sticky = u128::from(!wide.is_multiple_of(power));
        let exponent = -i32::try_from(shift).ok()?;
        Some(round(
            self.negative,
            wide / power * 2 + sticky,
            exponent - 1,
        ))
    }
}

fn shift_right_sticky(value: u128, shift: u32) -> u128 {
    if shift >= 128 {
        return u128::from(value != 0);
    }
    let kept = value >> shift;
    kept | u128::from(kept << shift != value)
}

fn shift_right_even(value: u128, shift: u32) -> u128 {
    if shift == 0 {
        return value;
    }
    if shift >= 128 {
        return 0;
    }
    let kept = value >> shift;
    let rest = value - (kept << shift);
    let half = 1u128 << (shift - 1);
    let up = rest > half || (rest == half && kept & 1 == 1);
    kept + u128::from(up)
}

fn round(negative: bool, value: u128, exponent: i32) -> LongDouble {
    if value == 0 {
        return LongDouble {
            negative,
            mantissa: 0,
            exponent: i32::MIN / 2,
        };
    }
    let bits = 128 - value.leading_zeros();
    let (mantissa, exponent) = if bits <= 64 {
        (value << (64 - bits), exponent - (64 - bits as i32))
    } else {
        (
            shift_right_even(value, bits - 64),
            exponent + bits as i32 - 64,
        )
    };
    match u64::try_from(mantissa) {
        Ok(mantissa) => LongDouble {
            negative,
            mantissa,
            exponent,
        },
        // Rounding up carried into a 65th bit.
        Err(_) => LongDouble {
            negative,
            mantissa: 1 << 63,
            exponent: exponent + 1,
        },
    }
}
