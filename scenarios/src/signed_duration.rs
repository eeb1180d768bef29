//! Durations that may be negative, as written in scenario files: `"-2s"`, `"1.5ttl"`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::lease_duration::{BadDuration, LeaseDuration};
use crate::string_enum::written_as_text;

/// How much later something arrives, or how far a clock is set forward or back.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SignedDuration {
    /// How far.
    pub span: LeaseDuration,
    /// True: to an earlier time.
    pub back: bool,
}

impl SignedDuration {
    /// In nanoseconds, for a lease of `ttl`. Negative for a shift back.
    pub fn resolve_ns(self, ttl: Duration) -> i64 {
        let far = self.span.resolve(ttl).as_nanos();
        let far = i64::try_from(far).unwrap_or(i64::MAX);
        if self.back { -far } else { far }
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
        // A second sign is not part of a number.
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

written_as_text!(SignedDuration);

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
