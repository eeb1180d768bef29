//! A proportion with its bounds.
//!
//! Bounds have 95 % confidence, and assume that the runs are independent samples, which runs with
//! different seeds are. They are those of Clopper and Pearson throughout, also for never and always:
//! after n runs without a violation, a rate of 1 - 0.025^(1/n), about 3.7/n, is not ruled out.

use super::clopper_pearson;

/// The confidence of the bounds, per cent.
pub const CONFIDENCE_PERCENT: u32 = 95;

/// The probability with which each of the two bounds may be wrong.
const TAIL: f64 = 0.025;

/// A number of runs out of all runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    seen: u64,
    runs: u64,
}

impl Rate {
    /// `seen` of `runs`; `None` without runs, or if more was seen than there were.
    pub fn new(seen: u64, runs: u64) -> Option<Rate> {
        (runs > 0 && seen <= runs).then_some(Rate { seen, runs })
    }

    /// The bounds of the true rate, 0 to 1.
    pub fn bounds(self) -> (f64, f64) {
        clopper_pearson::bounds(self.seen, self.runs, TAIL)
    }

    /// `37 of 100 (27.5 – 47.3 %)`, `0 of 1000 (≤ 0.37 %)`, `20 of 20 (≥ 83.1 %)`.
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

/// The direction of rounding: a bound must not promise more than was computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Round {
    /// For upper bounds.
    Up,
    /// For lower bounds.
    Down,
}

/// A fraction in per cent: two digits below one per cent, else one decimal.
pub fn per_cent(part: f64, round: Round) -> String {
    let percent = part * 100.0;
    let decimals = if percent >= 1.0 || percent <= 0.0 {
        1
    } else {
        // The position of the first non-zero digit, and one more.
        (1.0 - percent.log10().floor()).min(12.0) as usize
    };
    let scale = 10_f64.powi(i32::try_from(decimals).unwrap_or(1));
    let rounded = match round {
        Round::Up => (percent * scale - 1e-9).ceil() / scale,
        Round::Down => (percent * scale + 1e-9).floor() / scale,
    };
    let text = format!("{rounded:.decimals$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
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
    fn never_and_always_have_the_exact_bound() {
        near(bounds(0, 1).1, 0.975);
        near(bounds(0, 10).1, 0.30850);
        near(bounds(0, 100).1, 0.03622);
        near(bounds(0, 1_000).1, 0.003682);
        near(bounds(100, 100).0, 1.0 - 0.03622);
        assert_eq!((bounds(0, 10).0, bounds(10, 10).1), (0.0, 1.0));
    }

    #[test]
    fn rates_read_as_people_write_them() {
        let words = |seen, runs| Rate::new(seen, runs).unwrap().describe();
        assert_eq!(words(0, 1_000), "0 of 1000 (≤ 0.37 %)");
        assert_eq!(words(0, 100), "0 of 100 (≤ 3.7 %)");
        assert_eq!(words(81, 263), "81 of 263 (25.2 – 36.8 %)");
        assert_eq!(words(20, 20), "20 of 20 (≥ 83.1 %)");
        assert_eq!(words(0, 1_000_000), "0 of 1000000 (≤ 0.00037 %)");
        assert_eq!(words(0, 1), "0 of 1 (≤ 97.5 %)");
    }

    #[test]
    fn no_runs_no_rate() {
        assert_eq!(Rate::new(0, 0), None);
        assert_eq!(Rate::new(2, 1), None);
    }

    proptest! {
        #[test]
        fn bounds_stand_around_what_was_seen(runs in 1..100_000_u64, part in 0.0..=1.0_f64) {
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
