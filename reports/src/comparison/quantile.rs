//! A quantile with a confidence interval that asks nothing of the distribution.
//!
//! Of `n` independent values, the number below the true quantile `q` is binomial (n, q). So the
//! values of two ranks, chosen by the binomial distribution alone, enclose the quantile with a
//! probability that does not depend on how latencies are distributed (see David and Nagaraja,
//! *Order Statistics*, section 7.1). Each interval here covers at least 99 %; two quantiles that
//! are the same have intervals that do not meet in well under one case of a thousand.
//!
//! What it cannot know: values of one run are not independent of each other (whoever waits, waits
//! for another), and two machines are not the same. It bounds the noise of the count, not of the
//! weather.

use hdrhistogram::Histogram;
use serde::Serialize;

/// What each end of an interval may miss: together 1 %.
const TAIL: f64 = 0.005;

/// The same in standard deviations, for counts so large that the binomial is normal.
const TAIL_DEVIATIONS: f64 = 2.576;

/// Above this count the normal distribution is exact to the width of a histogram's bucket.
const LARGE: u64 = 100_000_000;

/// A quantile and the interval that covers it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Estimate {
    /// How many values there are.
    pub count: u64,
    /// The quantile of these values, microseconds.
    pub value_us: u64,
    /// The least that the true one may be; 0 where there are too few values to say.
    pub low_us: u64,
    /// The most that it may be; `None` where there are too few values to say.
    pub high_us: Option<u64>,
}

/// The quantile of a histogram that is not empty. The bounds are widened by its resolution.
pub fn estimate(histogram: &Histogram<u64>, quantile: f64) -> Estimate {
    let count = histogram.len();
    let (low, high) = ranks(count, quantile);
    Estimate {
        count,
        value_us: histogram.value_at_quantile(quantile),
        low_us: low.map_or(0, |rank| {
            histogram.lowest_equivalent(at_rank(histogram, rank))
        }),
        high_us: high.map(|rank| histogram.highest_equivalent(at_rank(histogram, rank))),
    }
}

/// The value of a rank, counted from 1.
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

/// The ranks, counted from 1, whose values enclose the quantile; `None`: no rank is far enough out.
pub fn ranks(count: u64, quantile: f64) -> (Option<u64>, Option<u64>) {
    let mean = count as f64 * quantile;
    let deviation = (mean * (1.0 - quantile)).sqrt();
    if count > LARGE {
        let low = (mean - TAIL_DEVIATIONS * deviation).floor().max(0.0) as u64;
        let high = (mean + TAIL_DEVIATIONS * deviation).ceil() as u64 + 1;
        return ((low > 0).then_some(low), (high <= count).then_some(high));
    }
    // Twelve deviations hold all of the distribution that a floating-point number can see.
    let reach = 12.0 * deviation + 60.0;
    let first = (mean - reach).floor().max(0.0) as u64;
    let last = ((mean + reach).ceil() as u64).min(count);
    let weights = weights(count, quantile, first, last);
    let total: f64 = weights.iter().sum();
    // Below the lower rank lie at most TAIL of all outcomes: B < low.
    let mut low = first;
    let mut below = 0.0;
    for weight in &weights {
        below += weight / total;
        if below > TAIL {
            break;
        }
        low += 1;
    }
    // At the upper rank and above it as well: B >= high.
    let mut high = last + 1;
    let mut above = 0.0;
    for weight in weights.iter().rev() {
        above += weight / total;
        if above > TAIL {
            break;
        }
        high -= 1;
    }
    ((low > 0).then_some(low), (high <= count).then_some(high))
}

/// Binomial weights of the outcomes `first..=last`, the most likely one 1.
fn weights(count: u64, quantile: f64, first: u64, last: u64) -> Vec<f64> {
    let mode = (((count + 1) as f64 * quantile).floor() as u64).clamp(first, last);
    let odds = quantile / (1.0 - quantile);
    let mut weights = vec![1.0; (last - first + 1) as usize];
    for outcome in mode + 1..=last {
        let at = (outcome - first) as usize;
        weights[at] = weights[at - 1] * odds * (count - outcome + 1) as f64 / outcome as f64;
    }
    for outcome in (first..mode).rev() {
        let at = (outcome - first) as usize;
        weights[at] = weights[at + 1] * (outcome + 1) as f64 / (odds * (count - outcome) as f64);
    }
    weights
}
