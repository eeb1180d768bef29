//! Times with three significant digits and a suitable unit, and things counted in words.

use std::fmt::Display;

/// `1 cell`, `2 cells`.
pub fn count<N: Display + PartialEq + From<u8>>(number: N, what: &str) -> String {
    match number == N::from(1) {
        true => format!("1 {what}"),
        false => format!("{} {what}s", grouped(number)),
    }
}

/// A whole number with its thousands apart: `2,527`.
pub fn grouped(number: impl Display) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        let left = digits.len() - place;
        if place > 0 && left.is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A span in nanoseconds: `850 ns`, `1.24 ms`, `1.2 s`, `3 min 20 s`.
pub fn span_ns(ns: u64) -> String {
    match ns {
        0 => "0 s".into(),
        1..1_000 => format!("{ns} ns"),
        1_000..999_500 => scaled(ns, 1_000, "µs"),
        999_500..999_500_000 => scaled(ns, 1_000_000, "ms"),
        999_500_000..99_950_000_000 => scaled(ns, 1_000_000_000, "s"),
        _ => minutes((ns / 1_000_000_000) + u64::from(ns % 1_000_000_000 >= 500_000_000)),
    }
}

/// A span in microseconds; see [`span_ns`].
pub fn span_us(us: u64) -> String {
    span_ns(us.saturating_mul(1_000))
}

/// A span in milliseconds; see [`span_ns`].
pub fn span_ms(ms: u64) -> String {
    span_ns(ms.saturating_mul(1_000_000))
}

/// A moment of the run in seconds with three decimals, so that moments are aligned and comparable.
pub fn trigger_ns(ns: u64) -> String {
    format!("{}.{:03} s", ns / 1_000_000_000, ns / 1_000_000 % 1_000)
}

fn scaled(ns: u64, unit_ns: u64, unit: &str) -> String {
    let value = ns as f64 / unit_ns as f64;
    let decimals = match value {
        v if v < 9.995 => 2,
        v if v < 99.95 => 1,
        _ => 0,
    };
    let number = format!("{value:.decimals$}");
    let number = match number.contains('.') {
        true => number.trim_end_matches('0').trim_end_matches('.'),
        false => &number,
    };
    format!("{number} {unit}")
}

fn minutes(seconds: u64) -> String {
    match (seconds / 3_600, seconds / 60 % 60, seconds % 60) {
        (0, minutes, 0) => format!("{minutes} min"),
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, 0, _) => format!("{hours} h"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_carry_three_digits_and_the_unit_that_fits() {
        let cases = [
            (0, "0 s"),
            (850, "850 ns"),
            (1_500, "1.5 µs"),
            (999_499, "999 µs"),
            (999_500, "1 ms"),
            (1_240_000, "1.24 ms"),
            (12_345_678, "12.3 ms"),
            (123_456_789, "123 ms"),
            (999_499_999, "999 ms"),
            (999_500_000, "1 s"),
            (1_204_000_000, "1.2 s"),
            (99_949_000_000, "99.9 s"),
            (99_950_000_000, "1 min 40 s"),
            (200_000_000_000, "3 min 20 s"),
            (3_600_000_000_000, "1 h"),
            (5_400_000_000_000, "1 h 30 min"),
        ];
        for (ns, shown) in cases {
            assert_eq!(span_ns(ns), shown, "{ns} ns");
        }
    }

    #[test]
    fn no_span_overflows() {
        assert!(span_ms(u64::MAX).ends_with(" min"));
    }

    #[test]
    fn moments_line_up() {
        assert_eq!(trigger_ns(1_204_999_999), "1.204 s");
        assert_eq!(trigger_ns(0), "0.000 s");
    }
}
