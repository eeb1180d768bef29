//! A proportion with its bounds.
//!
//! Bounds have 95 % confidence, and assume that the runs are independent samples, which runs with
//! different seeds are.
//!
//! - Between never and always: the Wilson score interval (Wilson 1927), which also works for rates
//!   near 0 and 1, where the textbook interval (mean ± 1.96 standard errors) fails.
//! - Never or always: the exact one-sided bound. A rate of p shows nothing in n runs with a
//!   probability of (1 - p)^n; the largest rate that is not ruled out makes that 5 %:
//!   p = 1 - 0.05^(1/n), about 3/n ("rule of three").

/// The confidence of the bounds, per cent.
pub const CONFIDENCE_PERCENT: u32 = 95;

/// The probability with which a bound may be wrong.
const DOUBT: f64 = 0.05;

/// The 97.5 % quantile of the normal distribution: half of that probability on either side.
const Z: f64 = 1.959_963_984_540_054;

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

    /// The observed rate, 0 to 1.
    pub fn observed(self) -> f64 {
        self.seen as f64 / self.runs as f64
    }

    /// The bounds of the true rate, 0 to 1.
    pub fn bounds(self) -> (f64, f64) {
        let runs = self.runs as f64;
        let rare = || 1.0 - DOUBT.powf(1.0 / runs);
        if self.seen == 0 {
            return (0.0, rare());
        }
        if self.seen == self.runs {
            return (1.0 - rare(), 1.0);
        }
        let rate = self.observed();
        let spread = Z * Z / runs;
        let center = rate + spread / 2.0;
        let reach = Z * ((rate * (1.0 - rate) + spread / 4.0) / runs).sqrt();
        let bound = |value: f64| (value / (1.0 + spread)).clamp(0.0, 1.0);
        (bound(center - reach), bound(center + reach))
    }

    /// `37 of 100 (28.2 – 46.8 %)`, `0 of 1000 (≤ 0.3 %)`, `20 of 20 (≥ 86.1 %)`.
    pub fn in_words(self) -> String {
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

    /// Newcombe 1998, "Two-sided confidence intervals for the single proportion", table I,
    /// method 3.
    #[test]
    fn wilson_intervals_are_the_published_ones() {
        for (seen, runs, low, high) in [
            (81, 263, 0.2553, 0.3662),
            (15, 148, 0.0624, 0.1605),
            (1, 29, 0.0061, 0.1718),
        ] {
            let (found_low, found_high) = bounds(seen, runs);
            near(found_low, low);
            near(found_high, high);
        }
    }

    #[test]
    fn never_and_always_have_the_exact_bound() {
        near(bounds(0, 1).1, 0.95);
        near(bounds(0, 10).1, 0.25887);
        near(bounds(0, 100).1, 0.02951);
        near(bounds(0, 1_000).1, 0.002991);
        near(bounds(100, 100).0, 1.0 - 0.02951);
        assert_eq!((bounds(0, 10).0, bounds(10, 10).1), (0.0, 1.0));
    }

    #[test]
    fn rates_read_as_people_write_them() {
        let words = |seen, runs| Rate::new(seen, runs).unwrap().in_words();
        assert_eq!(words(0, 1_000), "0 of 1000 (≤ 0.3 %)");
        assert_eq!(words(0, 100), "0 of 100 (≤ 3 %)");
        assert_eq!(words(81, 263), "81 of 263 (25.5 – 36.7 %)");
        assert_eq!(words(20, 20), "20 of 20 (≥ 86 %)");
        assert_eq!(words(0, 1_000_000), "0 of 1000000 (≤ 0.0003 %)");
        assert_eq!(words(0, 1), "0 of 1 (≤ 95 %)");
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
            prop_assert!(0.0 <= low && low <= rate.observed());
            prop_assert!(rate.observed() <= high && high <= 1.0);
            prop_assert!(!rate.in_words().contains("NaN"));
        }
    }
}
