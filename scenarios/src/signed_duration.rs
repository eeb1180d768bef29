//! Durations that may be negative, as written in scenario files: `"-2s"`, `"1.5ttl"`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::lease_duration::{BadDuration, LeaseDuration};
use crate::string_enum::serde_as_string;

/// A delay, or a shift of a clock forward or back.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SignedDuration {
    /// The absolute length.
    pub span: LeaseDuration,
    /// Whether the shift is to an earlier time.
    pub back: bool,
}

impl SignedDuration {
    /// Returns the shift in nanoseconds for a lease of `ttl`; negative for a shift back.
    pub fn resolve_ns(self, ttl: Duration) -> i64 {
        let span_ns = i64::try_from(self.span.resolve(ttl).as_nanos()).unwrap_or(i64::MAX);
        if self.back { -span_ns } else { span_ns }
    }
}

impl From<LeaseDuration> for SignedDuration {
    fn from(span: LeaseDuration) -> Self {
        SignedDuration { span, back: false }
    }
}

impl FromStr for SignedDuration {
    type Err = BadDuration;

    fn from_str(text: &str) -> Result<Self, BadDuration> {
        let trimmed = text.trim();
        let (back, span) = match trimmed.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, trimmed.strip_prefix('+').unwrap_or(trimmed)),
        };
        // A second sign must not be parsed as part of the number.
        if span.trim_start().starts_with(['+', '-']) {
            return Err(BadDuration::Unknown(text.to_owned()));
        }
        let span = span
            .parse()
            .map_err(|error: BadDuration| error.within(text))?;
        Ok(SignedDuration { span, back })
    }
}

impl fmt::Display for SignedDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.back {
            f.write_str("-")?;
        }
        self.span.fmt(f)
    }
}

serde_as_string!(SignedDuration);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leading_minus_means_back() {
        let ttl = Duration::from_secs(2);
        let resolved = |text: &str| {
            text.parse::<SignedDuration>()
                .map(|shift| shift.resolve_ns(ttl))
        };
        assert_eq!(resolved("1.5ttl"), Ok(3_000_000_000));
        assert_eq!(resolved(" +20ms "), Ok(20_000_000));
        assert_eq!(resolved("-2s"), Ok(-2_000_000_000));
        for wrong in ["--2s", "-+2s", "- -2s", "- -0ttl", "+ +2s", "-", "2", "s"] {
            assert!(resolved(wrong).is_err(), "{wrong}");
        }
        assert_eq!("-2s".parse::<SignedDuration>().unwrap().to_string(), "-2s");
    }
}
