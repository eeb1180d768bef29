//! Durations: formatted values parse back, and invalid ones are rejected.

use std::time::Duration;

use picklock_impls::{LeaseDuration, NotADuration};
use proptest::prelude::*;

/// The longest valid duration.
const MAX_US: u64 = 7 * 24 * 3600 * 1_000_000;

fn read(text: &str) -> Result<LeaseDuration, NotADuration> {
    text.parse()
}

fn micros(count: u64) -> LeaseDuration {
    LeaseDuration::Absolute(Duration::from_micros(count))
}

#[test]
fn units_are_told_apart() {
    assert_eq!(read("250us"), Ok(micros(250)));
    assert_eq!(read(" 1.5 ms "), Ok(micros(1_500)));
    assert_eq!(read("2s"), Ok(micros(2_000_000)));
    assert_eq!(read("1m"), Ok(micros(60_000_000)));
    assert_eq!(read("0.5h"), Ok(micros(1_800_000_000)));
    assert_eq!(read("0ttl"), Ok(LeaseDuration::Ttl(0.0)));
    assert_eq!(read("168h"), Ok(micros(MAX_US)));
}

#[test]
fn nonsense_is_refused() {
    for text in [
        "", "ms", "5", "5 min", "-1s", "infs", "inf", "nan", "NaNttl", "1e400s", "169h", "1001ttl",
        "1.2.3s", "1s2", "½ttl",
    ] {
        assert_eq!(read(text), Err(NotADuration), "{text}");
    }
}

proptest! {
    /// Whole microseconds: the resolution of options.
    #[test]
    fn absolute_spans_come_back(us in 0..=MAX_US) {
        prop_assert_eq!(read(&micros(us).to_string()), Ok(micros(us)));
    }

    #[test]
    fn multiples_of_the_lease_come_back(factor in 0.0..=1000.0_f64) {
        let span = LeaseDuration::Ttl(factor);
        prop_assert_eq!(read(&span.to_string()), Ok(span));
    }

    #[test]
    fn any_text_is_read_or_refused(text in any::<String>()) {
        let _ = read(&text);
    }

    /// Close to valid input, so that the parser reaches both the number and the unit.
    #[test]
    fn what_is_read_can_be_used_and_written(
        number in "[-+]?[0-9]{0,25}(\\.[0-9]{0,25})?(e[-+]?[0-9]{1,4})?|inf|nan",
        unit in "(us|ms|s|m|h|ttl|x|) ?",
        lease_ms in any::<u64>(),
    ) {
        if let Ok(span) = read(&format!("{number}{unit}")) {
            let length = span.resolve(Duration::from_millis(lease_ms));
            prop_assert!(!span.is_zero() || length.is_zero());
            prop_assert!(read(&span.to_string()).is_ok(), "{span}");
        }
    }
}
