//! Rates as written in scenario files: `"40/s"`, `"0.5/ms"`, or relative to the lease, `"4/ttl"`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::string_enum::serde_as_string;

/// A number of evenly spaced events per unit of time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rate {
    /// Number of events; greater than 0.
    pub count: f64,
    /// The unit of time.
    pub per: Per,
}

/// The unit of time of a rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Per {
    /// A second.
    Second,
    /// A millisecond.
    Millisecond,
    /// The lease's TTL.
    Ttl,
}

const UNITS: [(Per, &str); 3] = [
    (Per::Second, "s"),
    (Per::Millisecond, "ms"),
    (Per::Ttl, "ttl"),
];

/// Rates outside this range are treated as typos.
const PLAUSIBLE: std::ops::RangeInclusive<f64> = 1e-6..=1e6;

/// Why a text is not a rate.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a rate; expected a number more than 0 and `/s`, `/ms` or `/ttl`: \"40/s\", \"0.5/ms\", or relative to the lease: \"4/ttl\""
)]
pub struct BadRate(String);

impl Rate {
    /// Returns the time of event `number`, counted from 0, in nanoseconds after the first event.
    ///
    /// It is computed from the number and not from the previous event, so that rounding errors do not accumulate.
    pub fn nth_ns(self, number: u64, ttl: Duration) -> u64 {
        (number as f64 * self.unit(ttl).as_nanos() as f64 / self.count) as u64
    }

    /// Returns how many events occur within `duration`, counting the first at its start, but none at its end.
    pub fn within(self, duration: Duration, ttl: Duration) -> u64 {
        let units = duration.as_nanos() as f64 / self.unit(ttl).as_nanos() as f64;
        (units * self.count).ceil() as u64
    }

    fn unit(self, ttl: Duration) -> Duration {
        match self.per {
            Per::Second => Duration::from_secs(1),
            Per::Millisecond => Duration::from_millis(1),
            Per::Ttl => ttl,
        }
    }
}

impl FromStr for Rate {
    type Err = BadRate;

    fn from_str(text: &str) -> Result<Self, BadRate> {
        let bad = || BadRate(text.to_owned());
        let (count, unit) = text.split_once('/').ok_or_else(bad)?;
        let count: f64 = count.trim().parse().map_err(|_| bad())?;
        match UNITS.iter().find(|(_, word)| *word == unit.trim()) {
            Some((per, _)) if PLAUSIBLE.contains(&count) => Ok(Rate { count, per: *per }),
            _ => Err(bad()),
        }
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = UNITS.iter().find(|(per, _)| *per == self.per);
        write!(f, "{}/{}", self.count, unit.map_or("", |(_, word)| word))
    }
}

serde_as_string!(Rate);

#[cfg(test)]
mod tests {
    use super::*;

    const TTL: Duration = Duration::from_secs(2);

    #[test]
    fn rate_defines_the_time_of_each_arrival() {
        let third_ns = |text: &str| text.parse::<Rate>().map(|rate| rate.nth_ns(3, TTL));
        assert_eq!(third_ns("40/s"), Ok(75_000_000));
        assert_eq!(third_ns(" 0.5 / ms "), Ok(6_000_000));
        assert_eq!(third_ns("4/ttl"), Ok(1_500_000_000));
        for wrong in [
            "", "40", "/s", "40/", "0/s", "-4/s", "4/h", "4/2s", "NaN/s", "inf/s", "1e300/s",
        ] {
            assert!(wrong.parse::<Rate>().is_err(), "{wrong:?} passed");
        }
        assert_eq!("4.0/ttl".parse::<Rate>().unwrap().to_string(), "4/ttl");
    }

    #[test]
    fn arrivals_within_a_duration_are_before_its_end() {
        for (text, seconds, expected) in [("4/s", 1, 4), ("3/s", 1, 3), ("0.1/s", 1, 1)] {
            let rate: Rate = text.parse().unwrap();
            let duration = Duration::from_secs(seconds);
            assert_eq!(rate.within(duration, TTL), expected, "{text}");
            let before = |number: &u64| u128::from(rate.nth_ns(*number, TTL)) < duration.as_nanos();
            assert_eq!((0..).take_while(before).count() as u64, expected, "{text}");
        }
    }
}
