//! The Hodges-Lehmann estimate of a shift, with the exact interval of Wilcoxon's signed-rank test.
//!
//! Hollander & Wolfe, "Nonparametric Statistical Methods", 3.2 and 3.3. Nothing is assumed of the
//! noise but that it is as likely up as down: two of nine pairs may be wild, and the answer stays.

/// Where the middle of paired differences lies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// The median of the averages of every two differences.
    pub estimate: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// The interval that covers the true middle of the differences with at least this confidence;
/// `None` where there are too few differences for it.
pub fn hodges_lehmann(differences: &[f64], confidence: f64) -> Option<Interval> {
    let cut = cut(differences.len(), confidence)?;
    let mut averages = Vec::new();
    for (index, one) in differences.iter().enumerate() {
        averages.extend(differences[index..].iter().map(|other| (one + other) / 2.0));
    }
    averages.sort_by(f64::total_cmp);
    let last = averages.len() - 1;
    Some(Interval {
        estimate: (averages[last / 2] + averages[last.div_ceil(2)]) / 2.0,
        low: averages[cut],
        high: averages[last - cut],
    })
}

/// How many averages may be left out at either end; `None`: not even none.
///
/// The rank sum of `n` untied differences is the sum of a random subset of 1..=n: counted exactly.
fn cut(n: usize, confidence: f64) -> Option<usize> {
    let mut ways = vec![1.0_f64];
    for rank in 1..=n {
        ways.resize(ways.len() + rank, 0.0);
        for sum in (rank..ways.len()).rev() {
            ways[sum] += ways[sum - rank];
        }
    }
    let tail = (1.0 - confidence) / 2.0;
    let all: f64 = ways.iter().sum();
    let mut below = 0.0;
    let mut cut = None;
    for (sum, count) in ways.iter().enumerate() {
        below += count / all;
        if below > tail || sum + 1 > ways.len() / 2 {
            break;
        }
        cut = Some(sum);
    }
    cut
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hamilton's depression scale factor before and after therapy: Hollander & Wolfe, table 3.1.
    const BEFORE: [f64; 9] = [1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30];
    const AFTER: [f64; 9] = [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29];

    fn improvement() -> Vec<f64> {
        BEFORE
            .iter()
            .zip(AFTER)
            .map(|(before, after)| before - after)
            .collect()
    }

    fn close(one: f64, other: f64) -> bool {
        (one - other).abs() < 1e-9
    }

    #[test]
    fn the_books_example_comes_out() {
        let found = hodges_lehmann(&improvement(), 0.95).unwrap();
        assert!(close(found.estimate, 0.46), "{found:?}");
        assert!(
            close(found.low, 0.010) && close(found.high, 0.786),
            "{found:?}"
        );
    }

    #[test]
    fn more_confidence_is_a_wider_interval() {
        let found = hodges_lehmann(&improvement(), 0.99).unwrap();
        assert!(close(found.estimate, 0.46), "{found:?}");
        assert!(
            close(found.low, -0.1135) && close(found.high, 0.987),
            "{found:?}"
        );
    }

    /// The critical values of the books' tables: a rank sum of so much or less is rarer than the
    /// tail; `None`: no sum is.
    #[test]
    fn the_tables_critical_values_come_out() {
        let two_sided_5 = [
            (5, None),
            (6, Some(0)),
            (7, Some(2)),
            (8, Some(3)),
            (9, Some(5)),
            (10, Some(8)),
            (12, Some(13)),
            (15, Some(25)),
            (20, Some(52)),
            (25, Some(89)),
        ];
        for (n, critical) in two_sided_5 {
            assert_eq!(cut(n, 0.95), critical, "n = {n}, 5 %");
        }
        let two_sided_1 = [
            (7, None),
            (8, Some(0)),
            (9, Some(1)),
            (10, Some(3)),
            (12, Some(7)),
            (15, Some(15)),
            (20, Some(37)),
            (25, Some(68)),
        ];
        for (n, critical) in two_sided_1 {
            assert_eq!(cut(n, 0.99), critical, "n = {n}, 1 %");
        }
    }

    #[test]
    fn nothing_has_no_interval() {
        assert_eq!(hodges_lehmann(&[], 0.5), None);
    }

    #[test]
    fn one_wild_pair_does_not_carry_the_interval_away() {
        let calm = [0.01, -0.02, 0.00, 0.03, -0.01, 0.02, -0.03, 0.01, 5.0];
        let found = hodges_lehmann(&calm, 0.99).unwrap();
        assert!(found.low < 0.0 && found.estimate < 0.1, "{found:?}");
    }
}
