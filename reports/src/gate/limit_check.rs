//! Checks cells against their limits.

use picklock_verdicts::record::Cell;
use serde::Serialize;

use super::baseline::BaselineCell;
use super::cell_key::CellKey;
use super::finding::{Finding, Kind};
use super::limit::{Limit, Reference, Side};
use super::metric::Metric;
use super::paired::{CONFIDENCE, GateRuns, quotients, ratios};
use crate::statistics::median_interval;
use crate::units::span_us;

/// A limit and the measurement that it was compared with.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Measurement {
    /// The cell.
    #[serde(flatten)]
    pub cell: CellKey,
    /// The limit, as parsed.
    pub limit: String,
    /// Whether the limit was met.
    pub kept: bool,
    /// The measurement: microseconds or a number; for pairs, as a multiple of the bound.
    pub value: f64,
    /// The bound, which is 1 for pairs.
    pub bound: f64,
    /// For pairs: the interval that covers the true median with 95 % confidence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<[f64; 2]>,
    /// The metric of each pair as a multiple of its bound; empty without pairs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pairs: Vec<f64>,
    /// The result in words.
    pub words: String,
    /// The baseline's value as text, or `None` if the baseline has no value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// The measurement as text.
    pub now: String,
}

/// The reason why a limit was not compared with a measurement: the kind of finding and its text. `None` if
/// another finding already reports it.
type Unchecked = Option<(Kind, String)>;

/// Checks the limits of one cell.
pub(super) struct LimitCheck<'a> {
    /// The cell in the baseline, if it has the same scenario and number of runs there.
    pub before: Option<&'a BaselineCell>,
    pub control: Option<&'a str>,
    pub runs: &'a GateRuns,
    pub cell: &'a Cell,
    pub key: &'a CellKey,
}

impl LimitCheck<'_> {
    /// Compares a limit with the measurements.
    pub fn check(&self, limit: &Limit) -> Result<Measurement, Unchecked> {
        if limit.reference == Reference::Baseline && self.before.is_none() {
            return Err(None);
        }
        if limit.metric.is_time() && !self.key.is_simulated() {
            self.in_pairs(limit)
        } else {
            self.exactly(limit)
        }
    }

    /// Returns the finding for a broken limit, or `None` if the limit was met.
    pub fn broken(&self, measured: &Measurement) -> Option<Finding> {
        let is_exact = measured.interval.is_none();
        (!measured.kept).then(|| Finding {
            reproduce: is_exact.then(|| self.cell.reproduce.clone()),
            ..Finding::new(Kind::Limit, self.key, measured.words.clone())
        })
    }

    fn exactly(&self, limit: &Limit) -> Result<Measurement, Unchecked> {
        let metric = &limit.metric;
        let value = metric
            .value_in(self.cell)
            .ok_or_else(|| inconclusive("not measured: no such operation succeeded"))?;
        let before = self.exact_before(metric);
        let (reference, based) = match limit.reference {
            Reference::Number => (1.0, String::new()),
            Reference::Baseline => {
                let number = before.ok_or_else(|| stale(limit))?;
                (number, format!("; baseline {}", shown(metric, number)))
            }
            Reference::Control => {
                let number = self.control_cell().and_then(|cell| metric.value_in(cell));
                let number = number.ok_or_else(|| inconclusive("the control has no such cell in this run, or no such operation succeeded in it"))?;
                (number, format!("; control {}", shown(metric, number)))
            }
        };
        let bound = limit.bound(reference);
        let kept = limit.holds(value, bound);
        // An inconclusive run may hide a violation.
        let inconclusive_runs = metric.inconclusive_runs(self.cell);
        let most = value + inconclusive_runs as f64;
        if kept && limit.side == Side::Max && !limit.holds(most, bound) {
            let why = format!(
                "{inconclusive_runs} of {} runs are inconclusive",
                self.cell.runs
            );
            return Err(inconclusive(&why));
        }
        let words = format!(
            "{} is {}, and {} {} {} ({limit}{based})",
            metric.as_str(),
            shown(metric, value),
            if kept { "meets" } else { "must be" },
            limit.side.sign(),
            shown(metric, bound),
        );
        Ok(Measurement {
            cell: self.key.clone(),
            limit: limit.to_string(),
            kept,
            value,
            bound,
            interval: None,
            pairs: Vec::new(),
            words,
            before: before.map(|number| shown(metric, number)),
            now: shown(metric, value),
        })
    }

    fn in_pairs(&self, limit: &Limit) -> Result<Measurement, Unchecked> {
        let metric = &limit.metric;
        let paired = (self.runs.paired.iter())
            .find(|paired| paired.key == *self.key)
            .ok_or_else(|| inconclusive("not run in pairs with a control"))?;
        if let Some(error) = &paired.error {
            let why = format!("the control {} failed to run: {error}", paired.control);
            return Err(Some((Kind::NotRun, why)));
        }
        let before = self.times_control(metric, &paired.control);
        // The control's time is a substitute for the baseline's time on this machine.
        let times_control = match limit.reference {
            Reference::Number => {
                let why = "a time on a server backend is not compared with a number";
                return Err(inconclusive(why));
            }
            Reference::Control => 1.0,
            Reference::Baseline => before.ok_or_else(|| stale(limit))?,
        };
        let of_bound = |lock: f64, control: f64| {
            let bound = limit.bound(times_control * control);
            (bound > 0.0).then(|| lock / bound)
        };
        let pairs = quotients(paired, of_bound, metric).unwrap_or_default();
        let found = median_interval(&pairs, CONFIDENCE).ok_or_else(|| {
            inconclusive("a run of a pair has no measurement, the bound is not above 0, or there are too few pairs")
        })?;
        let words = format!(
            "{} is {:.2} times its bound, with 95 % confidence between {:.2} and {:.2} ({limit}; median of {} pairs of runs with {}, interval of the sign test)",
            metric.as_str(),
            found.estimate,
            found.low,
            found.high,
            pairs.len(),
            paired.control,
        );
        let describe = |ratio: f64| format!("{ratio:.2} × {}", paired.control);
        let now = ratios(paired, metric);
        Ok(Measurement {
            cell: self.key.clone(),
            limit: limit.to_string(),
            // The limit is broken only if the whole interval is beyond the bound.
            kept: limit.holds(found.low, 1.0) || limit.holds(found.high, 1.0),
            value: found.estimate,
            bound: 1.0,
            interval: Some([found.low, found.high]),
            pairs,
            words,
            before: before.map(describe),
            now: now.map_or_else(String::new, |ratio| describe(ratio.estimate)),
        })
    }

    /// Returns the baseline's value of a metric that repeats exactly.
    fn exact_before(&self, metric: &Metric) -> Option<f64> {
        let exact = self.before?.exact.as_ref()?;
        exact.metrics.get(metric.as_str()).copied()
    }

    /// Returns the baseline's value of a metric, as a multiple of this control's value.
    fn times_control(&self, metric: &Metric, control: &str) -> Option<f64> {
        let relative = self.before?.relative.as_ref();
        let relative = relative.filter(|relative| relative.control == control)?;
        relative.ratios.get(metric.as_str()).copied()
    }

    /// Returns the control's cell for the same scenario and backend, without options.
    fn control_cell(&self) -> Option<&Cell> {
        let wanted = CellKey {
            lock: self.control?.to_owned(),
            options: Default::default(),
            ..self.key.clone()
        };
        let mut cells = self.runs.matrix.cells.iter();
        cells.find(|cell| CellKey::new(cell) == wanted)
    }
}

fn inconclusive(why: &str) -> Unchecked {
    Some((Kind::Inconclusive, why.to_owned()))
}

fn stale(limit: &Limit) -> Unchecked {
    let metric = limit.metric.as_str();
    let why =
        format!("the baseline has no {metric} for this cell, or only relative to another control");
    Some((Kind::StaleBaseline, why))
}

/// Formats a value as a time or a number.
fn shown(metric: &Metric, value: f64) -> String {
    if !metric.is_time() {
        value.to_string()
    } else if value < 0.0 {
        // Slack can make a bound negative.
        format!("-{}", span_us(-value as u64))
    } else {
        span_us(value as u64)
    }
}
