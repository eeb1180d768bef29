//! The median with the exact interval of the sign test.
//!
//! Conover, "Practical Nonparametric Statistics", 3.2. The only assumption is that the values are independent. Any
//! three of fifteen values may be outliers in either direction, and the interval still ends at values that are not
//! outliers. Tests that use magnitudes (the signed-rank test, the t-test) give more weight to outliers, which a busy
//! machine always produces.

use super::binomial_ranks::enclosing_ranks;

/// A median and the interval that covers the true one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// The median.
    pub estimate: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end of the interval.
    pub high: f64,
}

/// Returns the interval that covers the true median with at least this confidence, 0 to 1, or `None` if there
/// are too few values for it.
pub fn median_interval(values: &[f64], confidence: f64) -> Option<Interval> {
    // Each value is above or below the true median with equal probability, like the toss of a coin.
    let tail = (1.0 - confidence) / 2.0;
    let (low, high) = enclosing_ranks(values.len() as u64, 0.5, tail);
    let (low, high) = (low? as usize - 1, high? as usize - 1);
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len() - 1;
    Some(Interval {
        estimate: f64::midpoint(sorted[last / 2], sorted[last.div_ceil(2)]),
        low: sorted[low],
        high: sorted[high],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interval_ends_are_values_of_the_sample() {
        let values = [9.0, 1.0, 8.0, 2.0, 7.0, 3.0, 6.0, 4.0, 5.0];
        let found = median_interval(&values, 0.95).unwrap();
        assert_eq!((found.low, found.estimate, found.high), (2.0, 5.0, 8.0));
        let even = median_interval(&values[..8], 0.95).unwrap();
        assert_eq!((even.low, even.estimate, even.high), (1.0, 5.0, 9.0));
    }

    #[test]
    fn too_few_values_have_no_interval() {
        assert_eq!(median_interval(&[], 0.5), None);
        assert_eq!(median_interval(&[1.0; 5], 0.95), None);
    }

    #[test]
    fn three_outliers_of_fifteen_do_not_move_the_ends() {
        let mut values = vec![1.3; 15];
        values[2] = 0.1;
        values[7] = 0.2;
        values[11] = 0.01;
        assert_eq!(median_interval(&values, 0.95).unwrap().low, 1.3);
        values[12] = 900.0;
        values[3] = 1.2;
        let found = median_interval(&values, 0.95).unwrap();
        assert_eq!((found.low, found.high), (1.2, 1.3));
    }
}
