//! Numbers as Redis parses and formats them.

use super::reply::Refusal;

/// Parses an integer as strictly as Redis, which allows no blanks, no plus sign and no leading zeros.
pub(super) fn integer(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    match digits {
        [b'0'] if !negative => return Some(0),
        [b'1'..=b'9', ..] if digits.len() <= 19 => {}
        _ => return None,
    }
    let mut magnitude: u64 = 0;
    for &digit in digits {
        if !digit.is_ascii_digit() {
            return None;
        }
        magnitude = magnitude
            .checked_mul(10)?
            .checked_add(u64::from(digit - b'0'))?;
    }
    if negative {
        0i64.checked_sub_unsigned(magnitude)
    } else {
        i64::try_from(magnitude).ok()
    }
}

/// Parses an [`integer`], or returns the error reply for a text that is not one.
pub(super) fn integer_argument(text: &[u8]) -> Result<i64, Refusal> {
    integer(text).ok_or(Refusal::NOT_INTEGER)
}

/// Parses an integer that must not be negative.
pub(super) fn count_argument(text: &[u8]) -> Result<i64, Refusal> {
    // Redis 7.0 returns the same error for text that is not a number.
    let count = integer(text).filter(|count| *count >= 0);
    count.ok_or(Refusal::NOT_POSITIVE)
}

/// Parses a double like `strtod`, but like Redis rejects blanks, trailing text and NaN.
pub(super) fn double(text: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(text).ok()?;
    let (sign, body) = match text.strip_prefix('-') {
        Some(rest) => (-1.0, rest),
        None => (1.0, text.strip_prefix('+').unwrap_or(text)),
    };
    if body.eq_ignore_ascii_case("inf") || body.eq_ignore_ascii_case("infinity") {
        return Some(sign * f64::INFINITY);
    }
    // Rust's parser accepts words that Redis rejects.
    if !body.starts_with(|first: char| first.is_ascii_digit() || first == '.') {
        return None;
    }
    let value: f64 = body.parse().ok()?;
    // strtod reports numbers that are too large or too small, and Redis rejects them.
    let mantissa = body.split(['e', 'E']).next().unwrap_or_default();
    let vanished = value == 0.0 && mantissa.bytes().any(|byte| (b'1'..=b'9').contains(&byte));
    (value.is_finite() && !vanished).then_some(sign * value)
}

/// Returns `true` for text that [`double`] rejects but that some versions accept: empty text, text with a leading
/// blank, and hexadecimal digits.
pub(super) fn is_read_differently(text: &[u8]) -> bool {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    matches!(
        digits,
        [] | [0 | b' ' | b'\t'..=b'\r', ..] | [b'0', b'x' | b'X', ..]
    )
}

/// Formats a double as Redis does: with `%.17g` up to Redis 7.0, and as the shortest exact text since 7.2.
pub(super) fn double_text(value: f64, shortest: bool) -> String {
    // Whole numbers that a double holds exactly are written as integers.
    if value.fract() == 0.0 && value.abs() < 4_503_599_627_370_496.0 {
        return format!("{value:.0}");
    }
    if shortest && value.is_finite() {
        shortest_text(value)
    } else {
        general_17(value)
    }
}

/// Formats a double with the fewest digits that identify it, like the library `fpconv` in Redis 7.2 and later.
fn shortest_text(value: f64) -> String {
    let (sign, digits, exponent) = parts(&format!("{value:e}"));
    let count = i32::try_from(digits.len()).unwrap_or(i32::MAX);
    // The power of ten of the last digit.
    let last = exponent - (count - 1);
    if last >= 0 && exponent.abs() < count + 7 {
        let zeros = "0".repeat(last.unsigned_abs() as usize);
        return format!("{sign}{digits}{zeros}");
    }
    if last < 0 && (last > -7 || exponent.abs() < 4) {
        let whole = count + last;
        if whole <= 0 {
            let zeros = "0".repeat(whole.unsigned_abs() as usize);
            return format!("{sign}0.{zeros}{digits}");
        }
        let (before, after) = digits.split_at(whole.unsigned_abs() as usize);
        return format!("{sign}{before}.{after}");
    }
    with_exponent(sign, &digits, exponent, 1)
}

/// Returns sign, digits and exponent of a number in scientific notation.
fn parts(scientific: &str) -> (&'static str, String, i32) {
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((scientific, "0"));
    let sign = if mantissa.starts_with('-') { "-" } else { "" };
    let digits = mantissa.chars().filter(char::is_ascii_digit).collect();
    (sign, digits, exponent.parse().unwrap_or(0))
}

/// Formats a number in scientific notation, with at least `width` digits in the exponent.
fn with_exponent(sign: &str, digits: &str, exponent: i32, width: usize) -> String {
    let (first, rest) = digits.split_at(1);
    let point = if rest.is_empty() { "" } else { "." };
    let mark = if exponent < 0 { '-' } else { '+' };
    let exponent = exponent.abs();
    format!("{sign}{first}{point}{rest}e{mark}{exponent:0width$}")
}

/// Formats a double as `%.17g`, the format in which Lua numbers become command arguments.
pub(super) fn general_17(value: f64) -> String {
    general_digits(value, 17)
}

/// Formats a double as C's `%.*g` with the precision `digits`, which must be at least 1.
pub(super) fn general_digits(value: f64, digits: usize) -> String {
    if !value.is_finite() {
        let sign = if value.is_sign_negative() { "-" } else { "" };
        return format!("{sign}{}", if value.is_nan() { "nan" } else { "inf" });
    }
    general(&format!("{value:.*e}", digits - 1), digits)
}

/// Converts scientific notation into the format of C's `%g` with the precision `max_digits`.
fn general(scientific: &str, max_digits: usize) -> String {
    let (sign, digits, exponent) = parts(scientific);
    let digits = match digits.trim_end_matches('0') {
        "" => "0",
        some => some,
    };
    if exponent < -4 || usize::try_from(exponent).is_ok_and(|place| place >= max_digits) {
        return with_exponent(sign, digits, exponent, 2);
    }
    let whole = usize::try_from(exponent + 1).unwrap_or(0);
    if exponent < 0 {
        let zeros = "0".repeat(exponent.unsigned_abs() as usize - 1);
        format!("{sign}0.{zeros}{digits}")
    } else if digits.len() <= whole {
        format!("{sign}{digits}{}", "0".repeat(whole - digits.len()))
    } else {
        let (before, after) = digits.split_at(whole);
        format!("{sign}{before}.{after}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_read_strictly() {
        assert_eq!(integer(b"0"), Some(0));
        assert_eq!(integer(b"-9223372036854775808"), Some(i64::MIN));
        assert_eq!(integer(b"9223372036854775807"), Some(i64::MAX));
        for bad in [
            "",
            "-",
            "-0",
            "+1",
            "01",
            " 1",
            "1 ",
            "1.0",
            "9223372036854775808",
            "x",
        ] {
            assert_eq!(integer(bad.as_bytes()), None, "{bad:?}");
        }
    }

    #[test]
    fn doubles_are_formatted_like_printf() {
        assert_eq!(double_text(0.1, false), "0.10000000000000001");
        assert_eq!(double_text(0.1, true), "0.1");
        assert_eq!(double_text(1e-7, true), "1e-7");
        assert_eq!(double_text(-0.000_012, true), "-0.000012");
        assert_eq!(double_text(1234.5, true), "1234.5");
        assert_eq!(double_text(1e300, true), "1e+300");
        assert_eq!(double_text(3.0, false), "3");
        assert_eq!(double_text(-1.5, false), "-1.5");
        assert_eq!(double_text(1e300, false), "1.0000000000000001e+300");
        assert_eq!(general_17(1e20), "1e+20");
        assert_eq!(general_17(0.00001), "1.0000000000000001e-05");
        assert_eq!(general_17(123_456_789.0), "123456789");
    }
}
