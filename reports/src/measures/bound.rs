//! What so many runs say about a rate: "0 in N" is a bound, not a proof.
//!
//! The bounds are those of Clopper and Pearson (1934), one-sided, at 95 %: the true rate is above
//! the lower one, and below the upper one, each with a confidence of at least 95 %. For nothing
//! seen in N runs the upper bound is `1 - 0.05^(1/N)`, about 3/N.

/// How sure a bound is.
const DOUBT: f64 = 0.05;

/// Halvings of the interval: more than a double can tell apart.
const STEPS: usize = 60;

/// The rate is below this, with 95 % confidence, after `seen` in `runs`; 1 without a run.
pub fn upper(seen: u64, runs: u64) -> f64 {
    if seen >= runs {
        return 1.0;
    }
    // The rate at which so few, or fewer, would be seen once in twenty.
    bisect(|rate| at_most(seen, runs, rate) > DOUBT)
}

/// The rate is above this, with 95 % confidence, after `seen` in `runs`; 0 without a run.
pub fn lower(seen: u64, runs: u64) -> f64 {
    let seen = seen.min(runs);
    if seen == 0 {
        return 0.0;
    }
    // As many or more are seen exactly when as many or fewer are not.
    1.0 - upper(runs - seen, runs)
}

/// Where `is_below`, true at 0 and false at 1, turns.
fn bisect(is_below: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..STEPS {
        let middle = (low + high) / 2.0;
        if is_below(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

/// Probability of at most `seen` in `runs` at this rate: the binomial distribution, summed from
/// its largest logarithm, because its terms underflow.
fn at_most(seen: u64, runs: u64, rate: f64) -> f64 {
    if rate <= 0.0 {
        return 1.0;
    }
    if rate >= 1.0 {
        return 0.0;
    }
    let odds = rate.ln() - (-rate).ln_1p();
    let mut logarithm = runs as f64 * (-rate).ln_1p();
    let mut largest = logarithm;
    let mut sum = 1.0;
    for index in 0..seen {
        logarithm += ((runs - index) as f64).ln() - ((index + 1) as f64).ln() + odds;
        if logarithm > largest {
            sum = sum * (largest - logarithm).exp() + 1.0;
            largest = logarithm;
        } else {
            sum += (logarithm - largest).exp();
        }
    }
    (largest + sum.ln()).exp().min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(one: f64, other: f64) -> bool {
        (one - other).abs() < 1e-4
    }

    #[test]
    fn nothing_seen_is_bounded_by_the_closed_form() {
        for runs in [1, 5, 20, 300, 100_000] {
            let exact = 1.0 - DOUBT.powf(1.0 / runs as f64);
            assert!(near(upper(0, runs), exact), "{runs}");
        }
        // The rule of three.
        assert!((upper(0, 300) * 300.0 - 3.0).abs() < 0.03);
    }

    /// From the published tables of the exact interval (one-sided 95 %, that is the two-sided
    /// 90 % interval).
    #[test]
    fn known_bounds() {
        assert!(near(upper(1, 10), 0.3942), "{}", upper(1, 10));
        assert!(near(lower(1, 10), 0.0051), "{}", lower(1, 10));
        assert!(near(upper(5, 10), 0.7776), "{}", upper(5, 10));
        assert!(near(lower(5, 10), 0.2224), "{}", lower(5, 10));
        assert!(near(lower(10, 10), 0.7411), "{}", lower(10, 10));
    }

    #[test]
    fn the_ends_are_the_ends() {
        assert_eq!((lower(0, 10), upper(10, 10)), (0.0, 1.0));
        assert_eq!((lower(0, 0), upper(0, 0)), (0.0, 1.0));
        assert!(upper(50_000, 100_000) > 0.5 && upper(50_000, 100_000) < 0.51);
    }
}
