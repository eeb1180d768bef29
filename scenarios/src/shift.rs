//! Durations that may be negative, as written in scenario files: `"-2s"`, `"1.5ttl"`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::span::{BadSpan, Span};

/// How much later something arrives, or how far a clock is set forward or back.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shift {
    /// How far.
    pub span: Span,
    /// True: to an earlier time.
    pub back: bool,
}

impl Shift {
    /// In nanoseconds, for a lease of `ttl`. Negative for a shift back.
    pub fn resolve_ns(self, ttl: Duration) -> i64 {
        let far = self.span.resolve(ttl).as_nanos();
        let far = i64::try_from(far).unwrap_or(i64::MAX);
        if self.back { -far } else { far }
    }
}

impl From<Span> for Shift {
    fn from(span: Span) -> Self {
        Shift { span, back: false }
    }
}

impl FromStr for Shift {
    type Err = BadSpan;

    fn from_str(text: &str) -> Result<Self, BadSpan> {
        let trimmed = text.trim();
        let (back, span) = match trimmed.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, trimmed.strip_prefix('+').unwrap_or(trimmed)),
        };
        // A second sign is not part of a number.
        if span.starts_with(['+', '-']) {
            return Err(BadSpan::of(text));
        }
        let span = span.parse().map_err(|_| BadSpan::of(text))?;
        Ok(Shift { span, back })
    }
}

impl fmt::Display for Shift {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.back {
            f.write_str("-")?;
        }
        self.span.fmt(f)
    }
}

impl<'de> Deserialize<'de> for Shift {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl Serialize for Shift {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sign_says_which_way() {
        let ttl = Duration::from_secs(2);
        let resolved = |text: &str| text.parse::<Shift>().map(|shift| shift.resolve_ns(ttl));
        assert_eq!(resolved("1.5ttl"), Ok(3_000_000_000));
        assert_eq!(resolved(" +20ms "), Ok(20_000_000));
        assert_eq!(resolved("-2s"), Ok(-2_000_000_000));
        for wrong in ["--2s", "-+2s", "- -2s", "-", "2", "s"] {
            assert!(resolved(wrong).is_err(), "{wrong}");
        }
        assert_eq!("-2s".parse::<Shift>().unwrap().to_string(), "-2s");
    }
}
