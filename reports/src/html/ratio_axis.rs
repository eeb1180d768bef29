//! Ratios with their intervals, drawn on one logarithmic axis that is centred on 1.

use crate::comparison::Ratio;

/// Width and height of a row, in units of the drawing.
pub(super) const WIDTH: f64 = 300.0;
pub(super) const HEIGHT: f64 = 22.0;
/// Margin at both ends of the axis.
const MARGIN: f64 = 14.0;
/// The axis spans at least one half to 2, and at most 1/64 to 64. Longer intervals extend beyond the edge.
const MIN_DOUBLINGS: f64 = 1.0;
const MAX_DOUBLINGS: f64 = 6.0;

/// The axis that all rows share.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Axis {
    /// The number of doublings on each side.
    doublings: f64,
}

/// A number on the axis.
#[derive(Debug, PartialEq)]
pub(super) struct Tick {
    pub(super) at: f64,
    pub(super) words: String,
    /// Whether the tick is at 1, which means no change.
    pub(super) is_one: bool,
}

/// One ratio on the axis.
#[derive(Debug, PartialEq)]
pub(super) struct Mark {
    /// The lower bound of the true ratio. The next field is its upper bound.
    pub(super) low: f64,
    pub(super) high: f64,
    /// Whether the lower bound is beyond the edge. The next field is the same for the upper bound, and is also true if
    /// there is none.
    pub(super) open_low: bool,
    pub(super) open_high: bool,
    /// The measured ratio, or `None` if the value before was 0.
    pub(super) dot: Option<f64>,
}

impl Axis {
    /// Creates an axis that covers the bounds of all ratios, as far as the limits allow.
    pub(super) fn new<'a>(ratios: impl IntoIterator<Item = &'a Ratio>) -> Axis {
        let mut doublings = MIN_DOUBLINGS;
        for ratio in ratios {
            let bounds = [ratio.ratio, Some(ratio.ratio_low), ratio.ratio_high];
            for bound in bounds.into_iter().flatten().filter(|bound| *bound > 0.0) {
                doublings = doublings.max(bound.log2().abs());
            }
        }
        Axis {
            doublings: doublings.ceil().min(MAX_DOUBLINGS),
        }
    }

    /// Returns the position of a ratio, clamped to the edge.
    fn x(&self, ratio: f64) -> f64 {
        let half = WIDTH / 2.0 - MARGIN;
        let share = (ratio.max(f64::MIN_POSITIVE).log2() / self.doublings).clamp(-1.0, 1.0);
        // Rounding to a tenth of a unit is invisible and keeps pages short.
        ((WIDTH / 2.0 + half * share) * 10.0).round() / 10.0
    }

    pub(super) fn ticks(&self) -> Vec<Tick> {
        let reach = self.doublings as i32;
        // Label at most about seven ticks.
        let step = if reach > 3 { 2 } else { 1 };
        let places = (-reach..=reach).filter(|doubling| doubling % step == 0);
        places
            .map(|doubling| Tick {
                at: self.x(2f64.powi(doubling)),
                words: match doubling {
                    0.. => format!("×{}", 1_u64 << doubling),
                    _ => format!("×1/{}", 1_u64 << -doubling),
                },
                is_one: doubling == 0,
            })
            .collect()
    }

    pub(super) fn mark(&self, ratio: &Ratio) -> Mark {
        let reach = 2f64.powf(self.doublings);
        let high = ratio.ratio_high.unwrap_or(f64::INFINITY);
        Mark {
            low: self.x(ratio.ratio_low),
            high: self.x(high.min(reach)),
            open_low: ratio.ratio_low < 1.0 / reach,
            open_high: high > reach,
            dot: ratio.ratio.map(|ratio| self.x(ratio)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::{Estimate, Place};

    fn ratio(low: f64, middle: Option<f64>, high: Option<f64>) -> Ratio {
        let estimate = Estimate {
            count: 1,
            value_us: 1,
            low_us: 1,
            high_us: None,
        };
        Ratio {
            place: Place {
                lock: String::new(),
                scenario: String::new(),
                backend: picklock_scenarios::BackendName::Sim,
            },
            operation: String::new(),
            quantile: 0.5,
            before: estimate,
            after: estimate,
            ratio: middle,
            ratio_low: low,
            ratio_high: high,
            within_noise: true,
        }
    }

    #[test]
    fn axis_is_centred_on_one_and_contains_all_marks() {
        let cases = [
            ratio(0.9, Some(1.0), Some(1.1)),
            ratio(0.0, Some(3.0), None),
            ratio(0.0, None, None),
            ratio(0.001, Some(1e9), Some(1e12)),
        ];
        let axis = Axis::new(&cases);
        assert_eq!(axis.doublings, MAX_DOUBLINGS);
        for case in &cases {
            let mark = axis.mark(case);
            let places = [Some(mark.low), mark.dot, Some(mark.high)];
            let places: Vec<f64> = places.into_iter().flatten().collect();
            assert!(places.is_sorted(), "{mark:?}");
            assert!(
                places.iter().all(|at| (0.0..=WIDTH).contains(at)),
                "{mark:?}"
            );
        }
        let middle = axis.ticks().into_iter().find(|tick| tick.is_one).unwrap();
        assert_eq!((middle.at, middle.words.as_str()), (WIDTH / 2.0, "×1"));
    }

    #[test]
    fn missing_bound_extends_beyond_the_edge() {
        let few = ratio(0.0, Some(1.5), None);
        let axis = Axis::new([&few]);
        let mark = axis.mark(&few);
        assert!(mark.open_low && mark.open_high);
        let tight = axis.mark(&ratio(1.2, Some(1.5), Some(1.8)));
        assert!(!tight.open_low && !tight.open_high);
        assert!(tight.low > WIDTH / 2.0 && tight.high < WIDTH);
    }
}
