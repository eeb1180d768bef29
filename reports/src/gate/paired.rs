//! Paired runs: the lock and the control alternate on the same machine.

use std::collections::BTreeMap;

use picklock_verdicts::check::Verdicts;
use picklock_verdicts::latency;
use picklock_verdicts::record::{Cell, Latency, MatrixRecord};

use super::cell_key::CellKey;
use super::metric::Metric;
use crate::statistics::{Interval, median_interval};

/// The confidence required to report a broken limit.
pub const CONFIDENCE: f64 = 0.95;

/// Minimum number of pairs that can give this confidence.
pub const MIN_PAIRS: usize = 6;

/// The results that the gate decides about.
#[derive(Debug, Clone, Default)]
pub struct GateRuns {
    /// All cells, including those with pairs.
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
    /// The pairs, each with one run of the lock and one of the control.
    pub pairs: Vec<Pair>,
    /// The error of a run of the control, if one failed.
    pub error: Option<String>,
}

/// Latencies of two consecutive runs, by operation.
#[derive(Debug, Clone, Default)]
pub struct Pair {
    /// The latencies of the lock.
    pub lock: BTreeMap<String, Latency>,
    /// The latencies of the control.
    pub control: BTreeMap<String, Latency>,
}

/// Merges another run of the same cell into `cell`, which then shows the verdicts of the more severe run.
pub fn absorb(cell: &mut Cell, other: Cell) {
    cell.runs += other.runs;
    cell.reruns += other.reruns;
    let elapsed_ms = cell.elapsed_ms.into_iter().chain(other.elapsed_ms);
    cell.elapsed_ms = elapsed_ms.reduce(|one, other| one + other);
    cell.latency = latency::merge([&cell.latency, &other.latency]);
    cell.key_history = match (cell.key_history, other.key_history) {
        (Some(one), Some(other)) => Some(one.and(other)),
        (one, other) => one.or(other),
    };
    for (property, tally) in other.tally {
        cell.tally.entry(property).or_default().add(tally);
    }
    let violations = |verdicts: &Verdicts| {
        let causes = verdicts.values().filter_map(|verdict| verdict.cause);
        causes.count()
    };
    let has_more = (other.mismatches.len(), violations(&other.verdicts))
        > (cell.mismatches.len(), violations(&cell.verdicts));
    if has_more || cell.verdicts.is_empty() {
        cell.verdicts = other.verdicts;
        cell.seed = other.seed;
        cell.counts = other.counts;
        cell.reproduce = other.reproduce;
    }
    for mismatch in other.mismatches {
        let mut known = cell.mismatches.iter_mut();
        match known.find(|one| one.property == mismatch.property && one.got == mismatch.got) {
            Some(known) => known.runs += mismatch.runs,
            None => cell.mismatches.push(mismatch),
        }
    }
    cell.error = cell.error.take().or(other.error);
}

/// Returns the lock's times divided by the control's: the median of the ratios of the pairs. Returns `None`
/// if a pair was not measured, or if there are too few pairs.
pub(super) fn ratios(paired: &Paired, metric: &Metric) -> Option<Interval> {
    let ratio = |lock, control| Some(lock / control);
    median_interval(&quotients(paired, ratio, metric)?, CONFIDENCE)
}

/// Returns the quotient of each pair's times in microseconds, or `None` if a pair has no quotient.
pub(super) fn quotients(
    paired: &Paired,
    quotient: impl Fn(f64, f64) -> Option<f64>,
    metric: &Metric,
) -> Option<Vec<f64>> {
    let pairs = paired.pairs.iter();
    pairs
        .map(|pair| quotient(metric.time_in(&pair.lock)?, metric.time_in(&pair.control)?))
        .collect()
}
