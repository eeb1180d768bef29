//! Limits: one metric, compared with a number, with the baseline or with the control.

use std::fmt;
use std::time::Duration;

use picklock_scenarios::LeaseDuration;

use super::metric::Metric;

/// A limit: the gate fails unless the metric keeps to it.
#[derive(Debug, Clone)]
pub struct Limit {
    /// The metric.
    pub metric: Metric,
    /// On which side of the bound it must stay.
    pub side: Side,
    /// What the bound is a multiple of.
    pub reference: Reference,
    /// The multiple: of a number, this is the bound itself. Times are in microseconds.
    pub factor: f64,
    /// How far the metric may be beyond the multiple. In the unit of the metric.
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

/// What a bound is a multiple of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reference {
    /// One microsecond, or 1.
    Number,
    /// The metric's value in the baseline.
    Baseline,
    /// The metric's value of the control lock.
    Control,
}

impl Side {
    /// The sign between the metric and the bound.
    pub fn sign(self) -> &'static str {
        match self {
            Side::Max => "<=",
            Side::Min => ">=",
        }
    }
}

impl Limit {
    /// The bound for this value of the reference, which is 1 for a number.
    pub fn bound(&self, reference: f64) -> f64 {
        match self.side {
            Side::Max => self.factor * reference + self.slack,
            Side::Min => self.factor * reference - self.slack,
        }
    }

    /// True if the value is on the right side of the bound.
    pub fn holds(&self, value: f64, bound: f64) -> bool {
        match self.side {
            Side::Max => value <= bound,
            Side::Min => value >= bound,
        }
    }

    /// A number in the unit of the metric.
    fn amount(&self, number: f64) -> String {
        match self.metric.is_time() {
            true => LeaseDuration::Absolute(Duration::from_micros(number as u64)).to_string(),
            false => number.to_string(),
        }
    }
}

/// `acquire.p99 <= baseline * 1.3 + 2ms`.
impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (word, sign) = (self.metric.as_str(), self.side.sign());
        let of = match self.reference {
            Reference::Number => {
                return write!(f, "{word} {sign} {}", self.amount(self.bound(1.0)));
            }
            Reference::Baseline => "baseline",
            Reference::Control => "control",
        };
        write!(f, "{word} {sign} {of}")?;
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
