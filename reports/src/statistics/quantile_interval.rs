//! A quantile with a confidence interval that assumes nothing about the distribution.
//!
//! Each interval covers the true quantile with at least 99 % confidence. The intervals of two equal quantiles
//! fail to overlap in well under one of a thousand cases.
//!
//! The values are assumed to be independent. Values of one run are not quite independent (a waiting worker
//! waits for another one), and two machines are not equal. The interval covers sampling noise, but not the
//! noise of the machine.

use hdrhistogram::Histogram;
use serde::Serialize;

use super::binomial_ranks::enclosing_ranks;

/// Probability that each end of an interval misses the quantile: 1 % in total.
pub const TAIL: f64 = 0.005;

/// A quantile and the interval that covers it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Estimate {
    /// Number of values.
    pub count: u64,
    /// Quantile of these values, in microseconds.
    pub value_us: u64,
    /// Lower end of the interval, or 0 if there are too few values for one.
    pub low_us: u64,
    /// Upper end of the interval, or `None` if there are too few values for one.
    pub high_us: Option<u64>,
}

/// Returns a quantile of a histogram that is not empty. The interval includes the histogram's resolution.
pub fn estimate(histogram: &Histogram<u64>, quantile: f64) -> Estimate {
    let count = histogram.len();
    let (low, high) = enclosing_ranks(count, quantile, TAIL);
    Estimate {
        count,
        value_us: histogram.value_at_quantile(quantile),
        low_us: low.map_or(0, |rank| {
            histogram.lowest_equivalent(at_rank(histogram, rank))
        }),
        high_us: high.map(|rank| histogram.highest_equivalent(at_rank(histogram, rank))),
    }
}

/// Returns the value at a rank, counted from 1.
fn at_rank(histogram: &Histogram<u64>, rank: u64) -> u64 {
    let mut count = 0;
    for recorded in histogram.iter_recorded() {
        count += recorded.count_at_value();
        if count >= rank {
            return recorded.value_iterated_to();
        }
    }
    histogram.max()
}
