//! Builds a cell from its runs.

use std::collections::BTreeMap;

use picklock_harness::check::{Property, Status, Verdicts, Warning, combine_warnings};
use picklock_harness::latency::Samples;
use picklock_harness::record::{
    Cell, Counts, KeyHistoryTally, LockInfo, Mismatch, RecordedVerdict, Redis, Tally,
};

use picklock_scenarios::{BackendName, Expectation};

use super::cell_latency::{CellLatency, RunLatency};
use super::selection::Task;
use crate::lock::version as version_of;
use crate::reproduce_command::ReproduceCommand;

/// The result of one run, without its history.
#[derive(Debug, Clone)]
pub struct JudgedRun {
    pub seed: u64,
    pub verdicts: Verdicts,
    pub counts: Counts,
    pub warnings: Vec<Warning>,
    pub latency: RunLatency,
    /// The version that the lock reported, if any.
    pub version: Option<String>,
    pub redis: Redis,
    /// Real duration of the run in milliseconds, or `None` in the simulation, whose output must be reproducible byte
    /// for byte.
    pub elapsed_ms: Option<u64>,
    /// Number of inconclusive runs before it.
    pub reruns: u64,
}

/// Rank of a run. The run with the smallest rank is shown; among equals, the run with the smallest seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Unexpected,
    Inconclusive,
    Violated,
    Plain,
}

/// Collects the runs of one cell, in any order.
#[derive(Debug, Default)]
pub struct CellBuilder {
    runs: u64,
    reruns: u64,
    tally: BTreeMap<Property, Tally>,
    mismatches: BTreeMap<(Property, Expectation, RecordedVerdict), u64>,
    shown: Option<(Rank, JudgedRun)>,
    latency: CellLatency,
    elapsed_ms: Option<u64>,
    key_history: Option<KeyHistoryTally>,
    /// The warnings of each run, by seed.
    warnings: BTreeMap<u64, Vec<Warning>>,
    error: Option<(u64, String)>,
}

impl CellBuilder {
    /// Returns the number of runs so far, including failed ones.
    pub fn runs(&self) -> u64 {
        self.runs
    }

    /// Records a run that left no history. If several runs left none, keeps the reason of the smallest seed.
    pub fn failed(&mut self, seed: u64, reason: String) {
        self.runs += 1;
        if self.error.as_ref().is_none_or(|(first, _)| seed < *first) {
            self.error = Some((seed, reason));
        }
    }

    /// Adds a run. Returns `true` if it is the run to show so far.
    pub fn add(&mut self, task: &Task, mut run: JudgedRun) -> bool {
        self.runs += 1;
        self.reruns += run.reruns;
        for (property, verdict) in &run.verdicts {
            self.tally.entry(*property).or_default().count(verdict);
        }
        let mismatches = task.expected.mismatches(&run.verdicts);
        let rank = rank(&mismatches, &run.verdicts);
        for mismatch in mismatches {
            let key = (mismatch.property, mismatch.expected, mismatch.got);
            *self.mismatches.entry(key).or_default() += 1;
        }
        let none = RunLatency::Samples(Samples::default());
        self.latency.add(std::mem::replace(&mut run.latency, none));
        if let Some(elapsed_ms) = run.elapsed_ms {
            *self.elapsed_ms.get_or_insert(0) += elapsed_ms;
        }
        if !run.warnings.is_empty() {
            self.warnings
                .insert(run.seed, std::mem::take(&mut run.warnings));
        }
        // In the simulation the nodes report their keys directly, so nothing has to be confirmed.
        if task.spec.backend != BackendName::Sim {
            self.key_history
                .get_or_insert_default()
                .add(run.counts.key_history);
        }
        let shown = self.shown.as_ref();
        let is_shown = shown.is_none_or(|(best, shown)| (rank, run.seed) < (*best, shown.seed));
        if is_shown {
            self.shown = Some((rank, run));
        }
        is_shown
    }

    /// Returns the seed of the run to show so far.
    pub fn shown_seed(&self) -> Option<u64> {
        self.shown.as_ref().map(|(_, run)| run.seed)
    }

    /// Returns the finished cell.
    pub fn cell(self, task: &Task) -> Cell {
        let spec = &task.spec;
        let shown = self.shown.map(|(_, run)| run);
        let seed = shown.as_ref().map_or(spec.seed, |run| run.seed);
        let version = shown.as_ref().and_then(|run| run.version.clone());
        let mismatches = self.mismatches.into_iter();
        Cell {
            lock: LockInfo {
                name: spec.lock.name.clone(),
                version: version.unwrap_or_else(|| version_of(&spec.lock).to_owned()),
            },
            options: spec.lock.options_by_name(),
            scenario: spec.scenario.name.clone(),
            summary: spec.scenario.summary.clone(),
            scenario_hash: task.scenario_hash.clone(),
            setting: Some(task.setting()),
            backend: spec.backend,
            redis: shown.as_ref().map(|run| run.redis.clone()),
            runs: self.runs,
            reruns: self.reruns,
            seed,
            counts: shown.as_ref().map(|run| run.counts).unwrap_or_default(),
            verdicts: shown.map(|run| run.verdicts).unwrap_or_default(),
            tally: self.tally,
            expected: task.expected.to_record(),
            mismatches: mismatches
                .map(|((property, expected, got), runs)| Mismatch {
                    property,
                    expected,
                    got,
                    runs,
                })
                .collect(),
            warnings: combine_warnings(self.warnings.values().flatten()),
            key_history: self.key_history,
            latency: self.latency.summary(),
            error: self.error.map(|(seed, why)| format!("seed {seed}: {why}")),
            elapsed_ms: self.elapsed_ms,
            run_dir: None,
            reproduce: ReproduceCommand::for_run(&spec.with_seed(seed)).to_string(),
        }
    }
}

fn rank(mismatches: &[Mismatch], verdicts: &Verdicts) -> Rank {
    if mismatches.iter().any(Mismatch::is_judged) {
        Rank::Unexpected
    } else if !mismatches.is_empty() {
        Rank::Inconclusive
    } else if verdicts.values().any(|v| v.status == Status::Violated) {
        Rank::Violated
    } else {
        Rank::Plain
    }
}
