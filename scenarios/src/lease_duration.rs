//! Durations as written in scenario files: `"500ms"`, `"2s"`, or relative to the lease: `"1.5ttl"`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::string_enum::serde_as_string;

/// A duration, absolute or as a multiple of the lease's TTL.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LeaseDuration {
    /// A duration that does not depend on the TTL.
    Absolute(Duration),
    /// A multiple of the TTL.
    Ttl(f64),
}

/// Maximum duration in a scenario, so that a typo does not block a CI job for a year.
pub(crate) const MAX_DURATION: Duration = Duration::from_secs(7 * 24 * 3600);

/// Maximum number of leases in a relative duration.
const MAX_LEASES: f64 = 1e4;

/// Why a text is not a duration that a scenario may have. Each variant contains the text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadDuration {
    /// The text is not a duration at all.
    #[error(
        "`{0}` is not a duration; expected a number and a unit: \"250us\", \"500ms\", \"2s\", \"1m\", \"1h\", or relative to the lease: \"1.5ttl\""
    )]
    Unknown(String),
    /// The text is a number without a unit.
    #[error("`{0}` has no unit; did you mean `{0}s` or `{0}ms`?")]
    NoUnit(String),
    /// The text is longer than a week.
    #[error("`{0}` is too long; expected 168 h (a week) at most")]
    TooLong(String),
    /// The text is longer than `MAX_LEASES` leases.
    #[error("`{0}` is too long; expected {MAX_LEASES}ttl at most")]
    TooManyLeases(String),
}

impl BadDuration {
    /// Returns the same error for a longer text that contains this one.
    pub(crate) fn within(self, text: &str) -> Self {
        let variant = match self {
            BadDuration::Unknown(_) | BadDuration::NoUnit(_) => BadDuration::Unknown,
            BadDuration::TooLong(_) => BadDuration::TooLong,
            BadDuration::TooManyLeases(_) => BadDuration::TooManyLeases,
        };
        variant(text.to_owned())
    }
}

impl LeaseDuration {
    /// A duration of zero.
    pub const ZERO: LeaseDuration = LeaseDuration::Absolute(Duration::ZERO);

    /// Returns the length of the duration for a lease of `ttl`.
    pub fn resolve(self, ttl: Duration) -> Duration {
        match self {
            LeaseDuration::Absolute(duration) => duration,
            LeaseDuration::Ttl(factor) => ttl.mul_f64(factor),
        }
    }

    /// Formats the duration for people: `1.5 leases`, `500 ms`.
    pub fn describe(self) -> String {
        match self {
            LeaseDuration::Ttl(1.0) => "a lease".to_owned(),
            LeaseDuration::Ttl(factor) => format!("{factor} leases"),
            LeaseDuration::Absolute(_) => {
                let text = self.to_string();
                let unit = text.trim_start_matches(|c: char| !c.is_ascii_alphabetic());
                let number = &text[..text.len() - unit.len()];
                format!("{number} {}", unit.replace("us", "µs"))
            }
        }
    }
}

impl FromStr for LeaseDuration {
    type Err = BadDuration;

    fn from_str(text: &str) -> Result<Self, BadDuration> {
        let bad = || BadDuration::Unknown(text.to_owned());
        let trimmed = text.trim();
        let Some(split) = trimmed.find(|c: char| c.is_ascii_alphabetic()) else {
            return Err(match trimmed.parse::<f64>() {
                Ok(number) if number > 0.0 => BadDuration::NoUnit(trimmed.to_owned()),
                _ => bad(),
            });
        };
        let (number, unit) = trimmed.split_at(split);
        let number: f64 = number.trim().parse().map_err(|_| bad())?;
        if !number.is_finite() || number < 0.0 {
            return Err(bad());
        }
        let seconds = match unit {
            "ttl" if number <= MAX_LEASES => return Ok(LeaseDuration::Ttl(number)),
            "ttl" => return Err(BadDuration::TooManyLeases(text.to_owned())),
            "us" => number / 1e6,
            "ms" => number / 1e3,
            "s" => number,
            "m" => number * 60.0,
            "h" => number * 3600.0,
            _ => return Err(bad()),
        };
        match Duration::try_from_secs_f64(seconds) {
            Ok(duration) if duration <= MAX_DURATION => Ok(LeaseDuration::Absolute(duration)),
            _ => Err(BadDuration::TooLong(text.to_owned())),
        }
    }
}

impl fmt::Display for LeaseDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LeaseDuration::Ttl(factor) => write!(f, "{factor}ttl"),
            LeaseDuration::Absolute(d) if d.subsec_nanos() == 0 => write!(f, "{}s", d.as_secs()),
            LeaseDuration::Absolute(d) if d.subsec_nanos() % 1_000_000 == 0 => {
                write!(f, "{}ms", d.as_millis())
            }
            LeaseDuration::Absolute(d) => write!(f, "{}us", d.as_secs_f64() * 1e6),
        }
    }
}

serde_as_string!(LeaseDuration);
