//! Checks whether cells keep to their limits.

use picklock_verdicts::record::{Cell, MatrixRecord};
use serde::Serialize;

use super::baseline::{Baseline, BaselineCell};
use super::cell_key::CellKey;
use super::finding::{Finding, Kind, UPDATE};
use super::limit::{Limit, Op, Unit};
use super::metric::Metric;
use super::paired::{CONFIDENCE, GateRuns, quotients};
use super::rules::Rules;
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
}

/// The result of checking a limit.
pub(super) enum LimitResult {
    /// It was compared with a measurement.
    Measurement(Box<Measurement>, Option<Finding>),
    /// It could not be checked.
    Unchecked(Finding),
    /// The baseline that it needs is stale or missing; another finding already says so.
    NoBaseline,
}

/// Checks the limits of one cell.
pub(super) struct LimitCheck<'a> {
    pub rules: &'a Rules,
    pub baseline: Option<&'a Baseline>,
    pub ran: &'a GateRuns,
    pub cell: &'a Cell,
    pub key: &'a CellKey,
    /// True if the baseline has this cell with the same scenario and number of runs.
    pub is_baseline_good: bool,
}

impl LimitCheck<'_> {
    /// Compares a limit with the measurements.
    pub fn check(&self, limit: &Limit) -> LimitResult {
        let needs_baseline = limit.mentions(Unit::Baseline);
        if needs_baseline && !self.is_baseline_good {
            return LimitResult::NoBaseline;
        }
        let is_real_time = limit.metric.is_time() && !self.key.is_simulated();
        match is_real_time {
            true => self.in_pairs(limit),
            false => self.exactly(limit),
        }
    }

    fn exactly(&self, limit: &Limit) -> LimitResult {
        let metric = limit.metric;
        let Some(value) = metric.of(self.cell) else {
            return self.not(limit, "it was not measured: no such operation succeeded");
        };
        let mut bases = Vec::new();
        let baseline = match limit.mentions(Unit::Baseline) {
            true => {
                let exact = self.before().and_then(|before| before.exact.as_ref());
                let Some(number) = exact.and_then(|exact| exact.metrics.get(&metric.word())) else {
                    return self.stale(limit);
                };
                bases.push(format!("baseline {}", shown(metric, *number)));
                *number
            }
            false => 0.0,
        };
        let control = match limit.mentions(Unit::Control) {
            true => {
                let Some(number) = self.control_cell().and_then(|cell| metric.of(cell)) else {
                    return self.not(limit, "the control has no such cell in this run, or no such operation succeeded in it");
                };
                bases.push(format!("control {}", shown(metric, number)));
                number
            }
            false => 0.0,
        };
        let bound = limit.bound_of(baseline, control);
        let kept = limit.op.holds(value, bound);
        let based = match bases.is_empty() {
            true => String::new(),
            false => format!("; {}", bases.join(", ")),
        };
        let words = format!(
            "{} is {}, and {} {} {} ({limit}{based})",
            metric.word(),
            shown(metric, value),
            if kept { "keeps to" } else { "must be" },
            limit.op.sign(),
            shown(metric, bound),
        );
        self.measured(limit, kept, (value, bound), None, words)
    }

    fn in_pairs(&self, limit: &Limit) -> LimitResult {
        let metric = limit.metric;
        let found = self
            .ran
            .paired
            .iter()
            .find(|paired| paired.key == *self.key);
        let Some(paired) = found else {
            return self.not(limit, "it was not run in pairs with a control");
        };
        if let Some(error) = &paired.error {
            let problem = format!(
                "{limit}: the control {} could not be run: {error}",
                paired.control
            );
            return LimitResult::Unchecked(Finding::of(Kind::NotRun, self.key, problem));
        }
        let ratio = match limit.mentions(Unit::Baseline) {
            true => {
                let relative = self.before().and_then(|before| before.relative.as_ref());
                let relative = relative.filter(|relative| relative.control == paired.control);
                match relative.and_then(|relative| relative.ratios.get(&metric.word())) {
                    Some(ratio) => *ratio,
                    None => return self.stale(limit),
                }
            }
            false => 0.0,
        };
        // The control shows what the baseline would be on this machine now.
        let of_bound = |lock: f64, control: f64| {
            let bound = limit.bound_of(ratio * control, control);
            (bound > 0.0).then(|| lock / bound)
        };
        let quotients = quotients(paired, of_bound, metric).unwrap_or_default();
        let Some(found) = median_interval(&quotients, CONFIDENCE) else {
            return self.not(
                limit,
                "some run of a pair measured nothing, or the bound is not above 0, or there are too few pairs",
            );
        };
        let kept = match limit.op {
            Op::Below | Op::AtMost => found.low <= 1.0,
            Op::Above | Op::AtLeast => found.high >= 1.0,
            Op::Equal | Op::Unequal => {
                return self.not(limit, "times of a real machine are never equal");
            }
        };
        let pairs = quotients.len();
        let words = format!(
            "{} is {:.2} times its bound, with 95 % confidence between {:.2} and {:.2} ({limit}; median of {pairs} pairs of runs with {}, interval of the sign test)",
            metric.word(),
            found.estimate,
            found.low,
            found.high,
            paired.control,
        );
        let interval = Some(([found.low, found.high], quotients));
        self.measured(limit, kept, (found.estimate, 1.0), interval, words)
    }

    fn measured(
        &self,
        limit: &Limit,
        kept: bool,
        (value, bound): (f64, f64),
        interval: Option<([f64; 2], Vec<f64>)>,
        words: String,
    ) -> LimitResult {
        let finding = (!kept).then(|| Finding {
            reproduce: Some(self.cell.reproduce.clone()).filter(|_| interval.is_none()),
            ..Finding::of(Kind::Limit, self.key, words.clone())
        });
        let measured = Measurement {
            cell: self.key.clone(),
            limit: limit.to_string(),
            kept,
            value,
            bound,
            interval: interval.as_ref().map(|(ends, _)| *ends),
            pairs: interval.map(|(_, pairs)| pairs).unwrap_or_default(),
            words,
        };
        LimitResult::Measurement(Box::new(measured), finding)
    }

    fn not(&self, limit: &Limit, why: &str) -> LimitResult {
        LimitResult::Unchecked(Finding::of(
            Kind::NotJudged,
            self.key,
            format!("{limit}: {why}"),
        ))
    }

    fn stale(&self, limit: &Limit) -> LimitResult {
        let problem = format!(
            "{limit}: the baseline has no {} of this cell, or only against another control",
            limit.metric.word()
        );
        LimitResult::Unchecked(Finding::of(Kind::StaleBaseline, self.key, problem).help(UPDATE))
    }

    fn before(&self) -> Option<&BaselineCell> {
        self.baseline.and_then(|baseline| baseline.find(self.key))
    }

    fn control_cell(&self) -> Option<&Cell> {
        let control = self.rules.control.as_deref()?;
        cell_of(&self.ran.matrix, control, self.key)
    }
}

/// The same cell of another lock, without options.
fn cell_of<'a>(matrix: &'a MatrixRecord, lock: &str, key: &CellKey) -> Option<&'a Cell> {
    matrix.cells.iter().find(|cell| {
        let other = CellKey::of(cell);
        other.lock == lock
            && other.options.is_empty()
            && other.scenario == key.scenario
            && other.backend == key.backend
    })
}

/// A value in words: a time, or a number.
fn shown(metric: Metric, value: f64) -> String {
    if !metric.is_time() {
        return value.to_string();
    }
    match value < 0.0 {
        // A subtraction can make a bound negative.
        true => format!("-{}", span_us(-value as u64)),
        false => span_us(value as u64),
    }
}
