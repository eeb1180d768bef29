//! Durations in option values: `500ms`, `2s`, or relative to the lease, `0.5ttl`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// A duration, absolute or as a multiple of the lease.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LeaseDuration {
    /// A fixed time, independent of the lease.
    Absolute(Duration),
    /// A multiple of the lease.
    Ttl(f64),
}

/// Maximum in seconds. A longer value is a typing error, and sums of valid values stay far below the range of a clock.
const MAX_S: f64 = 7.0 * 24.0 * 3600.0;

/// Maximum multiple of the lease, for the same reason.
const MAX_TTLS: f64 = 1000.0;

/// A text that is not a duration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotADuration;

impl LeaseDuration {
    /// Returns the duration for a lease of `ttl`.
    pub fn resolve(self, ttl: Duration) -> Duration {
        match self {
            LeaseDuration::Absolute(duration) => duration,
            // The lease may be so long that its multiple cannot be represented.
            LeaseDuration::Ttl(factor) => Duration::try_from_secs_f64(ttl.as_secs_f64() * factor)
                .unwrap_or(Duration::from_secs_f64(MAX_S)),
        }
    }

    /// Returns `true` for a duration of zero.
    pub fn is_zero(self) -> bool {
        match self {
            LeaseDuration::Absolute(duration) => duration.is_zero(),
            LeaseDuration::Ttl(factor) => factor == 0.0,
        }
    }
}

impl FromStr for LeaseDuration {
    type Err = NotADuration;

    fn from_str(text: &str) -> Result<Self, NotADuration> {
        let text = text.trim();
        let unit_at = text
            .find(|letter: char| letter.is_ascii_alphabetic())
            .ok_or(NotADuration)?;
        let (number, unit) = text.split_at(unit_at);
        let number: f64 = number.trim().parse().map_err(|_| NotADuration)?;
        // This also rejects NaN, which compares false with everything.
        if !(0.0..=f64::MAX).contains(&number) {
            return Err(NotADuration);
        }
        let seconds = match unit {
            "ttl" if number <= MAX_TTLS => return Ok(LeaseDuration::Ttl(number)),
            "us" => number / 1e6,
            "ms" => number / 1e3,
            "s" => number,
            "m" => number * 60.0,
            "h" => number * 3600.0,
            _ => return Err(NotADuration),
        };
        if seconds > MAX_S {
            return Err(NotADuration);
        }
        let duration = Duration::try_from_secs_f64(seconds).map_err(|_| NotADuration)?;
        Ok(LeaseDuration::Absolute(duration))
    }
}

impl fmt::Display for LeaseDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LeaseDuration::Ttl(factor) => write!(f, "{factor}ttl"),
            LeaseDuration::Absolute(d) if d.subsec_nanos() == 0 => write!(f, "{}s", d.as_secs()),
            LeaseDuration::Absolute(d) => write!(f, "{}ms", d.as_secs_f64() * 1e3),
        }
    }
}
