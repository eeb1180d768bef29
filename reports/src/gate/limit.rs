//! Limits: each compares one metric with a number, with the baseline or with the control.

use std::fmt;
use std::time::Duration;

use picklock_scenarios::LeaseDuration;

use super::metric::Metric;

/// A limit. The gate fails if the metric exceeds it.
#[derive(Debug, Clone)]
pub struct Limit {
    /// The metric.
    pub metric: Metric,
    /// On which side of the bound it must stay.
    pub side: Side,
    /// The reference value that the bound is a multiple of.
    pub reference: Reference,
    /// The factor of the reference value. For a number, this is the bound. Times are in microseconds.
    pub factor: f64,
    /// Tolerance beyond the bound, in the unit of the metric.
    pub slack: f64,
}

/// The side of a bound on which a metric must stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// At most the bound.
    Max,
    /// At least the bound.
    Min,
}

/// The reference value of a bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reference {
    /// The unit: one microsecond, or 1.
    Number,
    /// The metric's value in the baseline.
    Baseline,
    /// The metric's value of the control lock.
    Control,
}

impl Side {
    /// Returns the sign between the metric and the bound.
    pub fn sign(self) -> &'static str {
        match self {
            Side::Max => "<=",
            Side::Min => ">=",
        }
    }
}

impl Limit {
    /// Returns the bound for this value of the reference, which is 1 for a number.
    pub fn bound(&self, reference: f64) -> f64 {
        match self.side {
            Side::Max => self.factor * reference + self.slack,
            Side::Min => self.factor * reference - self.slack,
        }
    }

    /// Returns `true` if the value is on the right side of the bound.
    pub fn holds(&self, value: f64, bound: f64) -> bool {
        match self.side {
            Side::Max => value <= bound,
            Side::Min => value >= bound,
        }
    }

    /// Formats a number in the unit of the metric.
    fn amount(&self, number: f64) -> String {
        if self.metric.is_time() {
            LeaseDuration::Absolute(Duration::from_micros(number as u64)).to_string()
        } else {
            number.to_string()
        }
    }
}

/// Formats a limit, such as `acquire.p99 <= baseline * 1.3 + 2ms`.
impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (word, sign) = (self.metric.as_str(), self.side.sign());
        let reference = match self.reference {
            Reference::Number => {
                return write!(f, "{word} {sign} {}", self.amount(self.bound(1.0)));
            }
            Reference::Baseline => "baseline",
            Reference::Control => "control",
        };
        write!(f, "{word} {sign} {reference}")?;
        if self.factor != 1.0 {
            write!(f, " * {}", self.factor)?;
        }
        match self.side {
            _ if self.slack == 0.0 => Ok(()),
            Side::Max => write!(f, " + {}", self.amount(self.slack)),
            Side::Min => write!(f, " - {}", self.amount(self.slack)),
        }
    }
}
