//! A proportion with its bounds.
//!
//! Bounds have 95 % confidence, and assume that the runs are independent samples, as runs with different seeds are. All
//! bounds are Clopper-Pearson bounds, even for 0 and 100 %: after n runs without a violation, a rate of 1 -
//! 0.025^(1/n), about 3.7/n, is not ruled out.

use super::clopper_pearson;

/// Confidence of the bounds, in percent.
pub const CONFIDENCE_PERCENT: u32 = 95;

/// Probability with which each of the two bounds may be wrong.
const TAIL: f64 = 0.025;

/// A number of runs out of all runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    seen: u64,
    runs: u64,
}

impl Rate {
    /// Returns the rate `seen` of `runs`, or `None` if there are no runs or fewer runs than `seen`.
    pub fn new(seen: u64, runs: u64) -> Option<Rate> {
        (runs > 0 && seen <= runs).then_some(Rate { seen, runs })
    }

    /// Returns the bounds of the true rate, 0 to 1.
    pub fn bounds(self) -> (f64, f64) {
        clopper_pearson::bounds(self.seen, self.runs, TAIL)
    }

    /// Formats the rate, such as `37 of 100 (27.5 – 47.3 %)`, `0 of 1000 (≤ 0.37 %)` or `20 of 20 (≥ 83.1
    /// %)`.
    pub fn describe(self) -> String {
        let (low, high) = self.bounds();
        let bounds = if self.seen == 0 {
            format!("≤ {} %", per_cent(high, Round::Up))
        } else if self.seen == self.runs {
            format!("≥ {} %", per_cent(low, Round::Down))
        } else {
            let (low, high) = (per_cent(low, Round::Down), per_cent(high, Round::Up));
            format!("{low} – {high} %")
        };
        format!("{} of {} ({bounds})", self.seen, self.runs)
    }
}

/// The direction of rounding. A bound must not claim more than was computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Round {
    /// For upper bounds.
    Up,
    /// For lower bounds.
    Down,
}

/// Formats a fraction in percent: with two significant digits below one percent, and otherwise with one
/// decimal.
pub fn per_cent(part: f64, round: Round) -> String {
    let percent = part * 100.0;
    let decimals = if percent >= 1.0 || percent <= 0.0 {
        1
    } else {
        // The position of the first nonzero digit, and one more.
        (1.0 - percent.log10().floor()).min(12.0) as usize
    };
    let scale = 10_f64.powi(i32::try_from(decimals).unwrap_or(1));
    let rounded = match round {
        Round::Up => (percent * scale - 1e-9).ceil() / scale,
        Round::Down => (percent * scale + 1e-9).floor() / scale,
    };
    let text = format!("{rounded:.decimals$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bounds(seen: u64, runs: u64) -> (f64, f64) {
        Rate::new(seen, runs).unwrap().bounds()
    }

    #[track_caller]
    fn near(found: f64, wanted: f64) {
        assert!((found - wanted).abs() < 5e-5, "{found}, not {wanted}");
    }

    #[test]
    fn rates_of_0_and_100_percent_have_exact_bounds() {
        near(bounds(0, 1).1, 0.975);
        near(bounds(0, 10).1, 0.30850);
        near(bounds(0, 100).1, 0.03622);
        near(bounds(0, 1_000).1, 0.003682);
        near(bounds(100, 100).0, 1.0 - 0.03622);
        assert_eq!((bounds(0, 10).0, bounds(10, 10).1), (0.0, 1.0));
    }

    #[test]
    fn rate_is_formatted_with_its_bounds() {
        let words = |seen, runs| Rate::new(seen, runs).unwrap().describe();
        assert_eq!(words(0, 1_000), "0 of 1000 (≤ 0.37 %)");
        assert_eq!(words(0, 100), "0 of 100 (≤ 3.7 %)");
        assert_eq!(words(81, 263), "81 of 263 (25.2 – 36.8 %)");
        assert_eq!(words(20, 20), "20 of 20 (≥ 83.1 %)");
        assert_eq!(words(0, 1_000_000), "0 of 1000000 (≤ 0.00037 %)");
        assert_eq!(words(0, 1), "0 of 1 (≤ 97.5 %)");
    }

    #[test]
    fn rate_requires_runs() {
        assert_eq!(Rate::new(0, 0), None);
        assert_eq!(Rate::new(2, 1), None);
    }

    proptest! {
        #[test]
        fn bounds_enclose_the_observed_rate(runs in 1..100_000_u64, part in 0.0..=1.0_f64) {
            let seen = (runs as f64 * part) as u64;
            let rate = Rate::new(seen, runs).unwrap();
            let (low, high) = rate.bounds();
            let observed = rate.seen as f64 / rate.runs as f64;
            prop_assert!(0.0 <= low && low <= observed);
            prop_assert!(observed <= high && high <= 1.0);
            prop_assert!(!rate.describe().contains("NaN"));
        }
    }
}
