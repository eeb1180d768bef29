//! Checks whether cells keep to their limits.

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

/// A limit that was compared with a measurement, kept or broken.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Measurement {
    /// The cell.
    #[serde(flatten)]
    pub cell: CellKey,
    /// The limit, as parsed.
    pub limit: String,
    /// True if it was kept.
    pub kept: bool,
    /// The measurement: microseconds or a number; for pairs, as a multiple of the bound.
    pub value: f64,
    /// The bound; for pairs 1.
    pub bound: f64,
    /// For pairs: the interval that covers the true median with 95 % confidence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<[f64; 2]>,
    /// The metric of each pair as a multiple of its bound; empty without pairs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pairs: Vec<f64>,
    /// The result in words.
    pub words: String,
    /// What the baseline has, in words; left out if it has nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// What was measured, in words.
    pub now: String,
}

/// Why a limit was not compared with a measurement: the kind of finding, and its words. `None` if
/// another finding already says so.
type Unchecked = Option<(Kind, String)>;

/// Checks the limits of one cell.
pub(super) struct LimitCheck<'a> {
    /// The cell in the baseline, if it has the same scenario and number of runs there.
    pub before: Option<&'a BaselineCell>,
    pub control: Option<&'a str>,
    pub ran: &'a GateRuns,
    pub cell: &'a Cell,
    pub key: &'a CellKey,
}

impl LimitCheck<'_> {
    /// Compares a limit with the measurements.
    pub fn check(&self, limit: &Limit) -> Result<Measurement, Unchecked> {
        if limit.reference == Reference::Baseline && self.before.is_none() {
            return Err(None);
        }
        match limit.metric.is_time() && !self.key.is_simulated() {
            true => self.in_pairs(limit),
            false => self.exactly(limit),
        }
    }

    /// The finding that the limit is broken, if it is.
    pub fn broken(&self, measured: &Measurement) -> Option<Finding> {
        let is_exact = measured.interval.is_none();
        (!measured.kept).then(|| Finding {
            reproduce: is_exact.then(|| self.cell.reproduce.clone()),
            ..Finding::new(Kind::Limit, self.key, measured.words.clone())
        })
    }

    fn exactly(&self, limit: &Limit) -> Result<Measurement, Unchecked> {
        let metric = &limit.metric;
        let value = metric.of(self.cell);
        let value =
            value.ok_or_else(|| not_judged("it was not measured: no such operation succeeded"))?;
        let before = self.exact_before(metric);
        let (reference, based) = match limit.reference {
            Reference::Number => (1.0, String::new()),
            Reference::Baseline => {
                let number = before.ok_or_else(|| stale(limit))?;
                (number, format!("; baseline {}", shown(metric, number)))
            }
            Reference::Control => {
                let number = self.control_cell().and_then(|cell| metric.of(cell));
                let number = number.ok_or_else(|| not_judged("the control has no such cell in this run, or no such operation succeeded in it"))?;
                (number, format!("; control {}", shown(metric, number)))
            }
        };
        let bound = limit.bound(reference);
        let kept = limit.holds(value, bound);
        // What could not be judged may be a violation.
        let undecided = metric.undecided_of(self.cell);
        let most = value + undecided as f64;
        if kept && limit.side == Side::Max && !limit.holds(most, bound) {
            let of = self.cell.runs;
            let why = format!("{undecided} of {of} runs could not be judged");
            return Err(not_judged(&why));
        }
        let words = format!(
            "{} is {}, and {} {} {} ({limit}{based})",
            metric.as_str(),
            shown(metric, value),
            if kept { "keeps to" } else { "must be" },
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
        let mut paired = self.ran.paired.iter();
        let paired = paired.find(|paired| paired.key == *self.key);
        let paired = paired.ok_or_else(|| not_judged("it was not run in pairs with a control"))?;
        if let Some(error) = &paired.error {
            let why = format!("the control {} could not be run: {error}", paired.control);
            return Err(Some((Kind::NotRun, why)));
        }
        let before = self.times_control(metric, &paired.control);
        // The control shows what the baseline would be on this machine now.
        let times_control = match limit.reference {
            Reference::Number => {
                let why = "a time of a real machine is not compared with a number";
                return Err(not_judged(why));
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
            not_judged("some run of a pair measured nothing, or the bound is not above 0, or there are too few pairs")
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
            // Broken only if the whole interval is beyond the bound.
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

    /// What the baseline has of a metric that repeats exactly.
    fn exact_before(&self, metric: &Metric) -> Option<f64> {
        let exact = self.before?.exact.as_ref()?;
        exact.metrics.get(metric.as_str()).copied()
    }

    /// What the baseline has of a metric, as a multiple of this control's.
    fn times_control(&self, metric: &Metric, control: &str) -> Option<f64> {
        let relative = self.before?.relative.as_ref();
        let relative = relative.filter(|relative| relative.control == control)?;
        relative.ratios.get(metric.as_str()).copied()
    }

    /// The same cell of the control, without options.
    fn control_cell(&self) -> Option<&Cell> {
        let wanted = CellKey {
            lock: self.control?.to_owned(),
            options: Default::default(),
            ..self.key.clone()
        };
        let mut cells = self.ran.matrix.cells.iter();
        cells.find(|cell| CellKey::new(cell) == wanted)
    }
}

fn not_judged(why: &str) -> Unchecked {
    Some((Kind::Inconclusive, why.to_owned()))
}

fn stale(limit: &Limit) -> Unchecked {
    let metric = limit.metric.as_str();
    let why = format!("the baseline has no {metric} of this cell, or only against another control");
    Some((Kind::StaleBaseline, why))
}

/// A value in words: a time, or a number.
fn shown(metric: &Metric, value: f64) -> String {
    match metric.is_time() {
        false => value.to_string(),
        // Slack can make a bound negative.
        true if value < 0.0 => format!("-{}", span_us(-value as u64)),
        true => span_us(value as u64),
    }
}
