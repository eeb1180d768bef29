//! Runs side by side: the subject and the control in turns, on the same machine at the same time.

use std::collections::BTreeMap;

use picklock_verdicts::record::{Cell, Latency, MatrixRecord};

use super::cell_key::CellKey;
use super::metric::Metric;
use crate::statistics::{Interval, median_interval};

/// How sure the gate must be that a limit is broken, and not the machine busy.
pub const CONFIDENCE: f64 = 0.95;

/// With fewer pairs nothing at all is so sure.
pub const FEWEST_PAIRS: usize = 6;

/// What was run.
#[derive(Debug, Clone, Default)]
pub struct Ran {
    /// All cells, those with pairs among them.
    pub matrix: MatrixRecord,
    /// Latencies of the cells that were compared with the control.
    pub paired: Vec<Paired>,
}

/// A cell that was compared with the control.
#[derive(Debug, Clone)]
pub struct Paired {
    /// The cell.
    pub key: CellKey,
    /// Name of the control.
    pub control: String,
    /// One run of either side after the other.
    pub pairs: Vec<Pair>,
    /// Why a run of the control gave nothing.
    pub error: Option<String>,
}

/// Latencies by operation of two runs, one after the other.
#[derive(Debug, Clone, Default)]
pub struct Pair {
    /// The subject's.
    pub subject: BTreeMap<String, Latency>,
    /// The control's.
    pub control: BTreeMap<String, Latency>,
}

impl Pair {
    /// The metric of either side, microseconds; `None` where one was not measured.
    pub fn both(&self, metric: Metric) -> Option<(f64, f64)> {
        let operation = metric.operation()?;
        let subject = metric.of_latency(self.subject.get(operation)?)?;
        let control = metric.of_latency(self.control.get(operation)?)?;
        Some((subject, control))
    }
}

/// Takes another run of the same cell into a cell. The verdicts that are shown become those of the
/// run that has more to say. Latencies stay the first run's: pairs are judged one by one.
pub fn absorb(cell: &mut Cell, other: Cell) {
    cell.runs += other.runs;
    for (property, tally) in other.tally {
        let all = cell.tally.entry(property).or_default();
        all.held += tally.held;
        all.violated += tally.violated;
        all.unknown += tally.unknown;
        all.not_applicable += tally.not_applicable;
        for (cause, runs) in tally.causes {
            *all.causes.entry(cause).or_default() += runs;
        }
    }
    let violations = |verdicts: &picklock_verdicts::check::Verdicts| {
        verdicts
            .values()
            .filter(|verdict| verdict.cause.is_some())
            .count()
    };
    let has_more = (other.surprises.len(), violations(&other.verdicts))
        > (cell.surprises.len(), violations(&cell.verdicts));
    if has_more || cell.verdicts.is_empty() {
        cell.verdicts = other.verdicts;
        cell.seed = other.seed;
        cell.counts = other.counts;
        cell.reproduce = other.reproduce;
    }
    for surprise in other.surprises {
        let known = cell
            .surprises
            .iter_mut()
            .find(|one| one.property == surprise.property && one.got == surprise.got);
        match known {
            Some(known) => known.runs += surprise.runs,
            None => cell.surprises.push(surprise),
        }
    }
    cell.error = cell.error.take().or(other.error);
}

/// The subject's times divided by the control's: the median of the ratios of the pairs. `None` if a
/// pair was not measured, or if there are too few pairs.
pub(super) fn ratios(paired: &Paired, metric: Metric) -> Option<Interval> {
    let ratio = |subject, control| Some(subject / control);
    median_interval(&quotients(paired, ratio, metric)?, CONFIDENCE)
}

/// A quotient of each pair; `None` if any pair lacks one.
pub(super) fn quotients(
    paired: &Paired,
    quotient: impl Fn(f64, f64) -> Option<f64>,
    metric: Metric,
) -> Option<Vec<f64>> {
    let of_pairs = paired.pairs.iter().map(|pair| {
        let (subject, control) = pair.both(metric)?;
        quotient(subject, control)
    });
    of_pairs.collect()
}
