//! The matrix record: locks × scenarios × backends, their verdicts, and what was expected.

use std::collections::BTreeMap;

use picklock_scenarios::{BackendName, Expectation, Family, Measure};
use serde::{Deserialize, Serialize};

use super::repro::RecordedVerdict;
use super::run::{Counts, Latency, LockInfo, Redis};
use crate::check::{Cause, Property, Status, Verdict, Verdicts};
use crate::history::KeyHistoryCheck;

/// Format and version of a matrix record.
pub const MATRIX_FORMAT: &str = "picklock-matrix/1";

/// The cells of a matrix, and how they were run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct MatrixRecord {
    /// Always [`MATRIX_FORMAT`].
    pub format: String,
    /// Version of picklock that made it.
    pub picklock: String,
    /// Seed of the first run of every cell; run `i` of a cell has `seed + i`.
    pub seed: u64,
    /// How many runs were requested for each cell.
    pub seeds: u64,
    /// Processors of the machine.
    pub processors: usize,
    /// How many cells ran concurrently.
    pub jobs: usize,
    /// True when the user interrupted it: cells are missing.
    #[serde(default)]
    pub interrupted: bool,
    /// Wall time of the whole matrix, milliseconds; left out if output must repeat to the byte.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elapsed_ms: Option<u64>,
    /// By backend, scenario and lock, in the order of the tables.
    pub cells: Vec<Cell>,
    /// Cells that were left out because they make no sense: a program of the user in the
    /// simulation, or a scenario in a backend that it is not made for. These are not failures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<SkippedCell>,
    /// Which built-in lock each lock that is not built in behaves like.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub similarity: Vec<Similarity>,
    /// The command that repeats it.
    pub reproduce: String,
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
    /// Why it was left out, in words.
    pub reason: String,
    /// What goes wrong in the scenario; left out by older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub family: Option<Family>,
}

/// What a comparison of locks must know of a cell's lock and scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CellSetting {
    /// What goes wrong in the scenario.
    pub family: Family,
    /// Which cost of a lock it measures; left out: none in particular.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measures: Option<Measure>,
    /// How many independent nodes the lock was given.
    pub nodes: usize,
    /// How many replicas of each node the lock needs, whatever the scenario adds.
    pub replicas: usize,
}

/// One lock under one scenario in one backend, run once or many times.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// The lock.
    #[serde(rename = "impl")]
    pub lock: LockInfo,
    /// Its options, from `--impl-option`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, String>,
    /// Name of the scenario.
    pub scenario: String,
    /// The scenario's own summary.
    pub summary: String,
    /// Hash of the scenario's content, so that a baseline can tell when the scenario has changed.
    pub scenario_hash: String,
    /// What a comparison of locks must know; left out by older versions, and of a single run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setting: Option<CellSetting>,
    /// Name of the backend.
    pub backend: BackendName,
    /// The servers of the runs: what they say of themselves. Left out if no run got as far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redis: Option<Redis>,
    /// How many runs were made.
    pub runs: u64,
    /// How many more were made, alone, in the place of runs that could not be judged.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub reruns: u64,
    /// Seed of the run that is shown: the first run with an unexpected result (judged runs before those that
    /// could not be judged), else the first with a violation, else the first.
    pub seed: u64,
    /// Verdicts of the run that is shown.
    pub verdicts: Verdicts,
    /// Results of all runs, by property.
    pub tally: BTreeMap<Property, Tally>,
    /// What is expected of this lock: `held`, `violated`, `violated: CAUSE` or `any`.
    pub expected: BTreeMap<Property, Expectation>,
    /// Verdicts that differ from what is expected.
    pub mismatches: Vec<Mismatch>,
    /// Counts of the run that is shown.
    pub counts: Counts,
    /// What looks at the servers' keys have confirmed in all runs; left out in the simulation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_history: Option<KeyHistoryTally>,
    /// Latencies of all runs together, by operation, as in a run record.
    pub latency: BTreeMap<String, Latency>,
    /// Why a run of the cell could not be made, of the first such seed. Then what held proves nothing, but
    /// what was violated in another run still counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Wall time of all its runs, milliseconds; left out if output must repeat to the byte.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elapsed_ms: Option<u64>,
    /// The directory of the run that is shown, relative to the matrix's own, if that was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_dir: Option<String>,
    /// The command that repeats the run that is shown.
    pub reproduce: String,
}

/// What looks at the servers' keys, each when a run was over, have confirmed of the key history.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyHistoryTally {
    /// Runs on real servers.
    pub runs: u64,
    /// Those whose key history was confirmed whole.
    pub confirmed_runs: u64,
    /// Values that have gone.
    pub ends: u64,
    /// Those whose end was confirmed.
    pub confirmed: u64,
}

impl KeyHistoryTally {
    /// Adds a run; `None`: it has no key history.
    pub fn add(&mut self, look: Option<KeyHistoryCheck>) {
        let look_or_none = look.unwrap_or_default();
        self.runs += 1;
        self.confirmed_runs += u64::from(look.is_some_and(|look| look.ends == look.confirmed));
        self.ends += look_or_none.ends;
        self.confirmed += look_or_none.confirmed;
    }

    /// The two together.
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

/// How often a property had each result.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Tally {
    /// Runs in which it held.
    pub held: u64,
    /// Runs in which it was violated.
    pub violated: u64,
    /// Runs in which it could not be decided.
    pub unknown: u64,
    /// Runs in which it did not apply.
    pub not_applicable: u64,
    /// The violations by cause.
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

    /// Counts the runs of another tally, too.
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
    /// In how many runs.
    pub runs: u64,
}

impl Cell {
    /// True if it ran and all verdicts are as expected.
    pub fn is_as_expected(&self) -> bool {
        self.error.is_none() && self.mismatches.is_empty()
    }

    /// True if a judged property is not as expected, even if another run could not be made.
    pub fn is_unexpected(&self) -> bool {
        self.mismatches.iter().any(Mismatch::is_judged)
    }

    /// True if the scenario expects something of the lock. Otherwise the cell is only shown.
    pub fn is_bound(&self) -> bool {
        let is_any = |it: &Expectation| matches!(it, Expectation::Any { .. });
        !self.expected.values().all(is_any)
    }

    /// Why the scenario is not applicable to this lock in this backend; `None`: it is, or the cell could not be run.
    pub fn inapplicable(&self) -> Option<&str> {
        let in_every_run = |tally: &Tally| tally.held + tally.violated + tally.unknown == 0;
        let mut verdicts = self.verdicts.values();
        let is_inapplicable = self.error.is_none()
            && self.tally.values().all(in_every_run)
            && verdicts.all(|one| one.status == Status::NotApplicable);
        let mut told = self.verdicts.values().filter_map(|one| one.story.first());
        told.next().map(String::as_str).filter(|_| is_inapplicable)
    }
}

impl Mismatch {
    /// False if the property could not be judged, which is no evidence against the lock.
    pub fn is_judged(&self) -> bool {
        self.got.status != Status::Unknown
    }
}

/// A lock that is not built in, compared with those that are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Similarity {
    /// Name of the lock.
    #[serde(rename = "impl")]
    pub lock: String,
    /// Name of the backend.
    pub backend: BackendName,
    /// The built-in lock whose expected results are closest to what came out. Left out, as `standard`, if
    /// no built-in lock uses as many nodes and replicas: then nothing was compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub like: Option<String>,
    /// In how many results, each a property under a scenario, that lock differs all the same.
    pub differs: usize,
    /// How many results could be compared.
    pub compared: usize,
    /// The built-in lock that it is held to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub standard: Option<String>,
    /// The scenarios in which it violated a property that the standard keeps, in the order of the table.
    pub worse: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_names_are_refused_with_the_list() {
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
