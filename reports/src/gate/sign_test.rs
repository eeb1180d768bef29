//! The median with the exact interval of the sign test.
//!
//! Conover, "Practical Nonparametric Statistics", 3.2. Nothing is assumed of the noise but that
//! pairs do not know of each other: of fifteen pairs any three may be as wild as they like, in
//! either direction, and the interval still ends at honest ones. Tests that weigh by size (the
//! signed-rank test, the t-test) give one wild pair more to say, and on a busy machine there is
//! always one.

/// Where the middle of what was measured lies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// The median.
    pub estimate: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// The interval that covers the true median with at least this confidence; `None` where there are
/// too few values for it.
pub fn median_interval(values: &[f64], confidence: f64) -> Option<Interval> {
    let cut = cut(values.len(), confidence)?;
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len() - 1;
    Some(Interval {
        estimate: f64::midpoint(sorted[last / 2], sorted[last.div_ceil(2)]),
        low: sorted[cut],
        high: sorted[last - cut],
    })
}

/// How many values may be left out at either end; `None`: not even none.
///
/// Each value is above the true median or below it, like the toss of a coin.
fn cut(n: usize, confidence: f64) -> Option<usize> {
    let tail = (1.0 - confidence) / 2.0;
    let mut exactly = 0.5_f64.powi(i32::try_from(n).ok()?);
    let mut at_most = 0.0;
    let mut cut = None;
    for below in 0..n.div_ceil(2) {
        at_most += exactly;
        if at_most > tail {
            break;
        }
        cut = Some(below);
        exactly *= (n - below) as f64 / (below + 1) as f64;
    }
    cut
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ranks of the lower ends as published tables have them, counted from 1; 0: there is none.
    #[test]
    fn the_tables_ranks_come_out() {
        let rank = |n, confidence| cut(n, confidence).map_or(0, |cut| cut + 1);
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
            assert_eq!((rank(n, 0.95), rank(n, 0.99)), (at_95, at_99), "n = {n}");
        }
    }

    #[test]
    fn the_ends_are_values_of_the_sample() {
        let values = [9.0, 1.0, 8.0, 2.0, 7.0, 3.0, 6.0, 4.0, 5.0];
        let found = median_interval(&values, 0.95).unwrap();
        assert_eq!((found.low, found.estimate, found.high), (2.0, 5.0, 8.0));
        let even = median_interval(&values[..8], 0.95).unwrap();
        assert_eq!((even.low, even.estimate, even.high), (1.0, 5.0, 9.0));
    }

    #[test]
    fn too_few_have_no_interval() {
        assert_eq!(median_interval(&[], 0.5), None);
        assert_eq!(median_interval(&[1.0; 5], 0.95), None);
    }

    #[test]
    fn three_wild_pairs_of_fifteen_do_not_move_the_ends() {
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
