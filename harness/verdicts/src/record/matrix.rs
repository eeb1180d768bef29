//! The matrix record: locks × scenarios × backends, with their verdicts and expectations.

use std::collections::BTreeMap;

use picklock_scenarios::{BackendName, Expectation, Family, LockKind, Measure};
use serde::{Deserialize, Serialize};

use super::repro::RecordedVerdict;
use super::run::{Counts, Latency, LockInfo, Redis};
use crate::check::{Cause, Property, Status, Verdict, Verdicts, Warning};
use crate::history::KeyHistoryCheck;

/// Format and version of a matrix record.
pub const MATRIX_FORMAT: &str = "picklock-matrix/1";

/// The cells of a matrix, and how they were run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct MatrixRecord {
    /// Always [`MATRIX_FORMAT`].
    pub format: String,
    /// Version of Picklock that produced the record.
    pub picklock: String,
    /// Seed of the first run of every cell; run `i` of a cell has `seed + i`.
    pub seed: u64,
    /// Number of runs requested per cell.
    pub seeds: u64,
    /// Number of CPUs of the machine.
    pub processors: usize,
    /// Number of cells that ran concurrently.
    pub jobs: usize,
    /// Whether the user interrupted the matrix, so that cells are missing.
    #[serde(default)]
    pub interrupted: bool,
    /// Wall time of the whole matrix in milliseconds; absent if the output must be reproducible byte for byte.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elapsed_ms: Option<u64>,
    /// The CI job that ran the matrix, or `None` if it did not run in CI.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ci_job: Option<CiJob>,
    /// The cells by backend, scenario and lock, in the order of the tables.
    pub cells: Vec<Cell>,
    /// Cells that were left out because they are not possible: a user's program in the simulation, or a scenario on a
    /// backend that it does not support. They are not failures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<SkippedCell>,
    /// For each lock that is not built in, the built-in lock that it resembles.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub similarity: Vec<Similarity>,
    /// The command that repeats the matrix.
    pub reproduce: String,
}

/// A job of a CI service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CiJob {
    /// The date on which it began the matrix (UTC), such as `2026-11-30`.
    pub date: String,
    /// The commit that it tested; absent if the service does not state it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The address of its page; absent if the service does not state it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

/// A cell that was left out, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkippedCell {
    /// Name of the lock.
    #[serde(rename = "impl")]
    pub lock: String,
    /// Name of the scenario.
    pub scenario: String,
    /// Name of the backend.
    pub backend: BackendName,
    /// The reason in plain words.
    pub reason: String,
    /// The kind of problem that the scenario is about; absent in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub family: Option<Family>,
}

/// The properties of a cell's lock and scenario that a comparison of locks needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CellSetting {
    /// The kind of problem that the scenario is about.
    pub family: Family,
    /// The kind of lock that the scenario's workload is for.
    pub lock_kind: LockKind,
    /// The cost of a lock that the scenario measures; absent if it measures no particular cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measures: Option<Measure>,
    /// Number of independent nodes that the lock was given.
    pub nodes: usize,
    /// Number of replicas per node that the lock needs, not counting those that the scenario adds.
    pub replicas: usize,
    /// The lease, in milliseconds; absent in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<u64>,
    /// Number of competing workers; absent in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workers: Option<usize>,
}

/// One lock under one scenario in one backend, run once or many times.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// The lock.
    #[serde(rename = "impl")]
    pub lock: LockInfo,
    /// The lock's options, from `--impl-option`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, String>,
    /// Name of the scenario.
    pub scenario: String,
    /// The scenario's own summary.
    pub summary: String,
    /// Hash of the scenario's content. A baseline uses it to detect that the scenario has changed.
    pub scenario_hash: String,
    /// The data for comparisons of locks; absent in older records, and in the record of a single run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setting: Option<CellSetting>,
    /// Name of the backend.
    pub backend: BackendName,
    /// Name and version of the servers, as they report them; absent if no run started its servers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redis: Option<Redis>,
    /// Number of runs.
    pub runs: u64,
    /// Number of reruns that replaced inconclusive runs. No other run was executed in parallel with a rerun.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub reruns: u64,
    /// Seed of the representative run: the first run with an unexpected result (conclusive results come first),
    /// otherwise the first with a violation, otherwise the first run.
    pub seed: u64,
    /// Verdicts of the representative run.
    pub verdicts: Verdicts,
    /// Results of all runs, by property.
    pub tally: BTreeMap<Property, Tally>,
    /// The expectation of each property: `held`, `violated`, `violated: CAUSE` or `any`.
    pub expected: BTreeMap<Property, Expectation>,
    /// Verdicts that differ from their expectation.
    pub mismatches: Vec<Mismatch>,
    /// Counts of the representative run.
    pub counts: Counts,
    /// Facts about the lock that no property judges, counted over all runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
    /// Confirmation of the key history over all runs; absent in the simulation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_history: Option<KeyHistoryTally>,
    /// Latencies of all runs combined, by operation, as in a run record.
    pub latency: BTreeMap<String, Latency>,
    /// Why a run of the cell failed to execute, for the first such seed. Held properties then prove nothing, but a
    /// violation in another run still counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Wall time of all its runs in milliseconds; absent if the output must be reproducible byte for byte.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elapsed_ms: Option<u64>,
    /// The saved run directory of the representative run, relative to the matrix's directory; absent if it was not
    /// saved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_dir: Option<String>,
    /// The command that repeats the representative run.
    pub reproduce: String,
}

/// Confirmation of the key history by comparison with the servers after each run, summed over runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyHistoryTally {
    /// Number of runs on real servers.
    pub runs: u64,
    /// Number of runs whose key history was confirmed completely.
    pub confirmed_runs: u64,
    /// Number of values that ended.
    pub ends: u64,
    /// Number of values whose end was confirmed.
    pub confirmed: u64,
}

impl KeyHistoryTally {
    /// Adds a run. `check` is `None` if the run has no key history.
    pub fn add(&mut self, check: Option<KeyHistoryCheck>) {
        self.runs += 1;
        if let Some(check) = check {
            self.confirmed_runs += u64::from(check.ends == check.confirmed);
            self.ends += check.ends;
            self.confirmed += check.confirmed;
        }
    }

    /// Returns the sum of both.
    #[must_use]
    pub fn and(self, other: KeyHistoryTally) -> KeyHistoryTally {
        KeyHistoryTally {
            runs: self.runs + other.runs,
            confirmed_runs: self.confirmed_runs + other.confirmed_runs,
            ends: self.ends + other.ends,
            confirmed: self.confirmed + other.confirmed,
        }
    }
}

/// The number of runs per verdict of a property.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Tally {
    /// Number of runs in which the property held.
    pub held: u64,
    /// Number of runs in which the property was violated.
    pub violated: u64,
    /// Number of runs in which the property was inconclusive.
    pub unknown: u64,
    /// Number of runs in which the property did not apply.
    pub not_applicable: u64,
    /// Number of violations by cause.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub causes: BTreeMap<Cause, u64>,
}

impl Tally {
    /// Counts one run. A violation without a cause is `undetermined`.
    pub fn count(&mut self, verdict: &Verdict) {
        match verdict.status {
            Status::Held => self.held += 1,
            Status::Violated => {
                self.violated += 1;
                let cause = verdict.cause.unwrap_or(Cause::Undetermined);
                *self.causes.entry(cause).or_default() += 1;
            }
            Status::Unknown => self.unknown += 1,
            Status::NotApplicable => self.not_applicable += 1,
        }
    }

    /// Adds the counts of another tally.
    pub fn add(&mut self, other: Tally) {
        self.held += other.held;
        self.violated += other.violated;
        self.unknown += other.unknown;
        self.not_applicable += other.not_applicable;
        for (cause, runs) in other.causes {
            *self.causes.entry(cause).or_default() += runs;
        }
    }
}

/// A property whose verdict is not what the scenario expects of the lock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mismatch {
    /// The property.
    pub property: Property,
    /// The expected result.
    pub expected: Expectation,
    /// The verdict. Files write it in the form of an expectation: `held`, `violated: race`, `unknown`.
    #[serde(with = "super::verdict_text")]
    pub got: RecordedVerdict,
    /// Number of runs with this verdict.
    pub runs: u64,
}

impl Cell {
    /// Returns `true` if the cell ran and all its verdicts are as expected.
    pub fn is_as_expected(&self) -> bool {
        self.error.is_none() && self.mismatches.is_empty()
    }

    /// Returns `true` if a conclusive verdict is unexpected, even if another run of the cell failed to execute.
    pub fn is_unexpected(&self) -> bool {
        self.mismatches.iter().any(Mismatch::is_judged)
    }

    /// Returns `true` if the scenario has an expectation for the lock. Otherwise no result of the cell is unexpected,
    /// but a violation still fails the matrix, unless the scenario accepts any result.
    pub fn is_bound(&self) -> bool {
        let is_any = |expectation: &Expectation| matches!(expectation, Expectation::Any { .. });
        !self.expected.values().all(is_any)
    }

    /// Returns why the scenario does not apply to this lock on this backend, or `None` if it applies or a run of the
    /// cell failed to execute.
    pub fn inapplicable(&self) -> Option<&str> {
        let in_every_run = |tally: &Tally| tally.held + tally.violated + tally.unknown == 0;
        let mut verdicts = self.verdicts.values();
        let is_inapplicable = self.error.is_none()
            && self.tally.values().all(in_every_run)
            && verdicts.all(|verdict| verdict.status == Status::NotApplicable);
        let mut reasons = self
            .verdicts
            .values()
            .filter_map(|verdict| verdict.story.first());
        reasons
            .next()
            .map(String::as_str)
            .filter(|_| is_inapplicable)
    }
}

impl Mismatch {
    /// Returns `true` if the verdict is conclusive. An inconclusive verdict proves nothing against the lock.
    pub fn is_judged(&self) -> bool {
        self.got.status != Status::Unknown
    }
}

/// The comparison of a lock that is not built in with the built-in ones.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Similarity {
    /// Name of the lock.
    #[serde(rename = "impl")]
    pub lock: String,
    /// Name of the backend.
    pub backend: BackendName,
    /// The built-in lock whose expected results are closest to the observed ones. Absent, like `standard`, if no
    /// built-in lock uses the same number of nodes and replicas, so that nothing was compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub like: Option<String>,
    /// Number of results in which the lock still differs from `like`. A result is one property in one scenario.
    pub differs: usize,
    /// Number of results that were compared.
    pub compared: usize,
    /// The reference lock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub standard: Option<String>,
    /// The scenarios in which the lock violated a property that holds for the reference lock, in the order of the
    /// table.
    pub worse: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_name_is_rejected_with_the_list() {
        let known: Tally = serde_json::from_str(r#"{"violated":2,"causes":{"race":2}}"#).unwrap();
        assert_eq!(known.causes[&Cause::Race], 2);
        let unknown = serde_json::from_str::<Tally>(r#"{"violated":2,"causes":{"raze":2}}"#);
        let message = unknown.unwrap_err().to_string();
        assert!(message.contains("unknown variant `raze`"), "{message}");
        assert!(message.contains("`outlived-lease`"), "{message}");
        let unknown = serde_json::from_str::<Verdicts>(r#"{"leese":{"status":"held"}}"#);
        let message = unknown.unwrap_err().to_string();
        assert!(message.contains("unknown variant `leese`"), "{message}");
        assert!(message.contains("`ownership`"), "{message}");
    }
}
