//! Formats durations with three significant digits and a suitable unit, and numbers with a noun.

use std::fmt::Display;

/// Formats a number with a noun, such as `1 cell` or `2 cells`.
pub fn count<N: Display + PartialEq + From<u8>>(number: N, noun: &str) -> String {
    if number == N::from(1) {
        format!("1 {noun}")
    } else {
        format!("{} {noun}s", grouped(number))
    }
}

/// Formats an integer with thousands separators: `2,527`.
pub fn grouped(number: impl Display) -> String {
    let number = number.to_string();
    let digits = number.trim_start_matches('-');
    let mut text = number[..number.len() - digits.len()].to_owned();
    for (place, digit) in digits.chars().enumerate() {
        let left = digits.len() - place;
        if place > 0 && left.is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats a duration in nanoseconds, such as `850 ns`, `1.24 ms`, `1.2 s` or `3 min 20 s`.
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

/// Formats a duration in microseconds; see [`span_ns`].
pub fn span_us(us: u64) -> String {
    span_ns(us.saturating_mul(1_000))
}

/// Formats a duration in milliseconds; see [`span_ns`].
pub fn span_ms(ms: u64) -> String {
    span_ns(ms.saturating_mul(1_000_000))
}

/// Formats a time of the run in seconds with three decimals, so that times are aligned and comparable.
pub fn time_ns(ns: u64) -> String {
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
    let number = if number.contains('.') {
        number.trim_end_matches('0').trim_end_matches('.')
    } else {
        &number
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
    fn duration_has_three_digits_and_a_suitable_unit() {
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
    fn thousands_are_separated() {
        let shown = [0, 999, 1_000, 2_527, 1_234_567, -1, -123, -1_234].map(grouped);
        let expected = [
            "0",
            "999",
            "1,000",
            "2,527",
            "1,234,567",
            "-1",
            "-123",
            "-1,234",
        ];
        assert_eq!(shown, expected);
    }

    #[test]
    fn longest_duration_does_not_overflow() {
        assert!(span_ms(u64::MAX).ends_with(" min"));
    }

    #[test]
    fn times_have_three_decimals() {
        assert_eq!(time_ns(1_204_999_999), "1.204 s");
        assert_eq!(time_ns(0), "0.000 s");
    }
}
