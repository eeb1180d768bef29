//! Ranks of a sample that enclose a quantile.
//!
//! Among `n` independent values, the number below the true quantile `q` is binomially distributed (n, q).
//! Therefore the values of two ranks, chosen by the binomial distribution alone, enclose the quantile with a
//! probability that does not depend on the distribution of the values (see David and Nagaraja, *Order
//! Statistics*, section 7.1).

/// Above this count, the error of the normal approximation is below a histogram's resolution.
const LARGE: u64 = 100_000_000;

/// Returns the ranks, counted from 1, of the two values that enclose the true quantile. Each misses it with
/// at most the probability `tail`, and is `None` if no value is far enough out.
pub fn enclosing_ranks(count: u64, quantile: f64, tail: f64) -> (Option<u64>, Option<u64>) {
    let mean = count as f64 * quantile;
    let deviation = (mean * (1.0 - quantile)).sqrt();
    if count > LARGE {
        let reach = normal_deviate(tail) * deviation;
        let low = (mean - reach).floor().max(0.0) as u64;
        let high = (mean + reach).ceil() as u64 + 1;
        return ((low > 0).then_some(low), (high <= count).then_some(high));
    }
    let (first, last) = window(count, quantile);
    let weights = weights(count, quantile, first, last);
    let total: f64 = weights.iter().sum();
    // At most `tail` of all outcomes are below the lower rank (B < low), and at most `tail` are at or above
    // the upper rank (B >= high).
    let low = first + outermost(weights.iter(), total, tail);
    let high = last + 1 - outermost(weights.iter().rev(), total, tail);
    ((low > 0).then_some(low), (high <= count).then_some(high))
}

/// Returns the number of outermost outcomes that together have at most the share `tail`.
fn outermost<'a>(weights: impl Iterator<Item = &'a f64>, total: f64, tail: f64) -> u64 {
    let mut sum = 0.0;
    let within = |weight: &&f64| {
        sum += *weight / total;
        sum <= tail
    };
    weights.take_while(within).count() as u64
}

/// Returns the first and the last outcome with a relevant probability.
pub(super) fn window(count: u64, quantile: f64) -> (u64, u64) {
    let mean = count as f64 * quantile;
    // Beyond twelve deviations, every probability is below floating-point resolution.
    let reach = 12.0 * (mean * (1.0 - quantile)).sqrt() + 60.0;
    let first = (mean - reach).floor().max(0.0) as u64;
    (first, ((mean + reach).ceil() as u64).min(count))
}

/// Returns the binomial weights of the outcomes `first..=last`, scaled so that the most likely one is 1.
pub(super) fn weights(count: u64, quantile: f64, first: u64, last: u64) -> Vec<f64> {
    let mode = (((count as f64 + 1.0) * quantile).floor() as u64).clamp(first, last);
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

/// Returns the deviation that a standard normal variable exceeds with at most the probability `tail`, which
/// is below one half: Abramowitz and Stegun, 26.2.23, with its largest error added.
pub(super) fn normal_deviate(tail: f64) -> f64 {
    let t = (-2.0 * tail.ln()).sqrt();
    let above = 2.515_517 + t * (0.802_853 + t * 0.010_328);
    let below = 1.0 + t * (1.432_788 + t * (0.189_269 + t * 0.001_308));
    t - above / below + 4.5e-4
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normal_deviates_match_published_tables() {
        for (tail, table) in [(0.025, 1.959_964), (0.005, 2.575_829), (0.000_5, 3.290_527)] {
            let found = normal_deviate(tail);
            assert!(found >= table && found - table < 1e-3, "{tail}: {found}");
        }
    }

    /// Ranks of the lower ends of a median's interval from published tables, counted from 1. 0 means that
    /// there is none.
    #[test]
    fn median_ranks_match_published_tables() {
        let rank = |n, tail| enclosing_ranks(n, 0.5, tail).0.unwrap_or(0);
        for (n, at_95, at_99) in [
            (5, 0, 0),
            (6, 1, 0),
            (7, 1, 0),
            (8, 1, 1),
            (9, 2, 1),
            (10, 2, 1),
            (12, 3, 2),
            (15, 4, 3),
            (20, 6, 4),
            (25, 8, 6),
            (30, 10, 8),
        ] {
            assert_eq!((rank(n, 0.025), rank(n, 0.005)), (at_95, at_99), "n = {n}");
        }
    }
}
