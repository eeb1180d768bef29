//! Percentile curves as static drawings, which also work in print and without a script.

use hdrhistogram::Histogram;

use crate::units::span_us;

/// Width and height of a drawing, in its own units.
const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 240.0;
/// Margins for the labels.
const LEFT: f64 = 72.0;
const RIGHT: f64 = 28.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 34.0;
/// Number of points per line.
const POINTS: u32 = 120;
/// The axis ends at 99.999 %, regardless of the number of values.
const MAX_NINES: f64 = 5.0;

pub(super) struct Drawing {
    pub(super) title: &'static str,
    pub(super) width: f64,
    pub(super) height: f64,
    pub(super) right: f64,
    pub(super) bottom: f64,
    pub(super) left: f64,
    pub(super) top: f64,
    pub(super) columns: Vec<Tick>,
    pub(super) rows: Vec<Tick>,
    pub(super) lines: Vec<Curve>,
}

/// A grid line and its label.
pub(super) struct Tick {
    pub(super) at: f64,
    pub(super) words: String,
}

pub(super) struct Curve {
    /// Position in the order of series, which determines colour and dashes.
    pub(super) series: usize,
    pub(super) words: &'static str,
    pub(super) points: String,
    pub(super) count: u64,
    /// Median, 90 %, 99 %, 99.9 % and maximum.
    pub(super) figures: Vec<String>,
}

/// The quantiles in the table next to the drawing.
pub(super) const QUANTILES: [f64; 5] = [0.5, 0.9, 0.99, 0.999, 1.0];

/// Draws the series that have values. Returns `None` if no series has values. A series has a position in the
/// order, a name and latencies in microseconds.
pub(super) fn drawing(
    title: &'static str,
    series: &[(usize, &'static str, &Histogram<u64>)],
) -> Option<Drawing> {
    let filled = series.iter().filter(|(.., values)| !values.is_empty());
    let filled: Vec<_> = filled.collect();
    let low_us = filled.iter().map(|(_, _, h)| h.min()).min()?.max(1);
    let high_us = filled.iter().map(|(_, _, h)| h.max()).max()?.max(1);
    let most = filled.iter().map(|(_, _, h)| h.len()).max()?;
    let nines = (most as f64).log10().clamp(1.0, MAX_NINES);
    // Span at least a decade, so that a flat line looks flat.
    let low = (low_us as f64).log10().floor();
    let high = (high_us as f64).log10().ceil().max(low + 1.0);
    let axes = Axes { nines, low, high };
    let lines = filled.into_iter().map(|&(series, words, histogram)| Curve {
        series,
        words,
        points: axes.points(histogram),
        count: histogram.len(),
        figures: histogram
            .value_at_quantiles(QUANTILES)
            .map(span_us)
            .collect(),
    });
    Some(Drawing {
        title,
        width: WIDTH,
        height: HEIGHT,
        left: LEFT,
        top: TOP,
        right: WIDTH - RIGHT,
        bottom: HEIGHT - BOTTOM,
        columns: axes.columns(),
        rows: axes.rows(),
        lines: lines.collect(),
    })
}

/// The axes of a drawing: percentiles on the horizontal axis, with the same width for each additional nine;
/// latency on a logarithmic vertical axis.
struct Axes {
    nines: f64,
    low: f64,
    high: f64,
}

impl Axes {
    fn x(&self, nines: f64) -> f64 {
        LEFT + (WIDTH - LEFT - RIGHT) * nines / self.nines
    }

    fn y(&self, us: f64) -> f64 {
        let share = (us.max(1.0).log10() - self.low) / (self.high - self.low);
        HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * share
    }

    fn points(&self, histogram: &Histogram<u64>) -> String {
        let nines = |step| self.nines * f64::from(step) / f64::from(POINTS);
        let quantiles = (0..=POINTS).map(|step| 1.0 - 10f64.powf(-nines(step)));
        let values = histogram.value_at_quantiles(quantiles).zip(0..);
        let places = values.map(|(us, step)| (self.x(nines(step)), self.y(us as f64)));
        let points: Vec<(String, String)> = places
            .map(|(x, y)| (format!("{x:.1}"), format!("{y:.1}")))
            .collect();
        // Points inside a horizontal line change nothing.
        let bends = |index: usize| {
            let (before, after) = (index.checked_sub(1), points.get(index + 1));
            let is_level = |other: &(String, String)| other.1 == points[index].1;
            !(before.is_some_and(|before| is_level(&points[before])) && after.is_some_and(is_level))
        };
        let bends = (0..points.len()).filter(|index| bends(*index));
        let drawn: Vec<String> = bends
            .map(|index| format!("{},{}", points[index].0, points[index].1))
            .collect();
        drawn.join(" ")
    }

    fn columns(&self) -> Vec<Tick> {
        let named = [
            (0.0, "0"),
            (std::f64::consts::LOG10_2, "50"),
            (1.0, "90"),
            (2.0, "99"),
            (3.0, "99.9"),
            (4.0, "99.99"),
            (5.0, "99.999"),
        ];
        let inside = named.into_iter().filter(|(nines, _)| *nines <= self.nines);
        let tick = |(nines, words): (f64, &str)| Tick {
            at: to_half(self.x(nines)),
            words: format!("{words} %"),
        };
        inside.map(tick).collect()
    }

    fn rows(&self) -> Vec<Tick> {
        let decades = self.low as i32..=self.high as i32;
        let tick = |decade: i32| {
            let us = 10f64.powi(decade);
            Tick {
                at: to_half(self.y(us)),
                words: span_us(us as u64),
            }
        };
        decades.map(tick).collect()
    }
}

/// Rounds to half a pixel. More digits would only make the page larger.
fn to_half(place: f64) -> f64 {
    (place * 2.0).round() / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram(values_us: &[u64]) -> Histogram<u64> {
        let mut histogram = Histogram::new_with_bounds(1, 3_600_000_000, 3).unwrap();
        for value in values_us {
            histogram.record(*value).unwrap();
        }
        histogram
    }

    #[test]
    fn empty_series_is_not_drawn() {
        assert!(drawing("acquire", &[(0, "healthy", &histogram(&[]))]).is_none());
    }

    #[test]
    fn curves_stay_inside_the_axes_and_never_fall() {
        let values: Vec<u64> = (1..2_000).collect();
        let (one, other) = (histogram(&values), histogram(&[0, 0, 3_600_000_000]));
        let drawing = drawing("acquire", &[(0, "healthy", &one), (1, "faulty", &other)]).unwrap();
        for line in &drawing.lines {
            let mut before = f64::INFINITY;
            for point in line.points.split(' ') {
                let (x, y) = point.split_once(',').unwrap();
                let (x, y): (f64, f64) = (x.parse().unwrap(), y.parse().unwrap());
                assert!(x >= drawing.left && x <= drawing.right + 0.1, "{x}");
                assert!(y >= drawing.top - 0.1 && y <= drawing.bottom + 0.1, "{y}");
                assert!(y <= before);
                before = y;
            }
        }
        assert_eq!(drawing.lines[0].figures[0], "1 ms");
    }
}
