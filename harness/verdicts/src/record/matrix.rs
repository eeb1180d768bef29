//! The matrix record: subjects × scenarios × worlds, what was expected, and what came out.

use picklock_scenarios::WorldName;
use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};

use super::run::{Counts, Latency, Subject};
use crate::check::{Cause, Property, Status, Verdicts};

/// Format and version of a matrix record.
pub const MATRIX_FORMAT: &str = "picklock-matrix/1";

/// Many cells, and how they were run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct MatrixRecord {
    /// Always [`MATRIX_FORMAT`].
    pub format: String,
    /// Version of picklock that made it.
    pub picklock: String,
    /// Seed of the first run of every cell; run `i` of a cell has `seed + i`.
    pub seed: u64,
    /// How often each cell was asked to run.
    pub seeds: u64,
    /// Processors of the machine.
    pub processors: usize,
    /// How many cells ran at a time.
    pub jobs: usize,
    /// True when the user interrupted it: cells are missing.
    #[serde(default)]
    pub interrupted: bool,
    /// Wall time of all of it, milliseconds; left out where output must repeat to the byte.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elapsed_ms: Option<u64>,
    /// By world, scenario and subject, in the order of the tables.
    pub cells: Vec<Cell>,
    /// What was left out because it makes no sense: a program of the user's own in the simulation,
    /// a scenario in a world that it is not made for. No failures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<SkippedCell>,
    /// The command that repeats it.
    pub reproduce: String,
}

/// A cell that cannot be, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkippedCell {
    /// Name of the subject.
    #[serde(rename = "impl")]
    pub subject: String,
    /// Name of the scenario.
    pub scenario: String,
    /// Name of the world.
    pub backend: WorldName,
    /// Why it was left out, in words.
    pub reason: String,
}

/// One subject under one scenario in one world, run once or many times.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// The subject.
    #[serde(rename = "impl")]
    pub subject: Subject,
    /// What was given as `--impl-option`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, String>,
    /// Name of the scenario.
    pub scenario: String,
    /// The scenario's own summary.
    pub summary: String,
    /// Hash of the scenario's content, so that a baseline knows when it is about something else.
    pub scenario_hash: String,
    /// Name of the world.
    pub backend: WorldName,
    /// How many runs were made.
    pub runs: u64,
    /// Seed of the run that is shown: the first that came out otherwise than expected (one that
    /// could be judged before one that could not), else the first that violated anything, else the
    /// first.
    pub seed: u64,
    /// Verdicts of the run that is shown.
    pub verdicts: Verdicts,
    /// Of all runs, by property.
    pub tally: BTreeMap<Property, Tally>,
    /// What the scenario expects of this subject, by property: `held`, `violated`,
    /// `violated: CAUSE` or `any`.
    pub expected: BTreeMap<Property, String>,
    /// What came out otherwise.
    pub surprises: Vec<Surprise>,
    /// Counts of the run that is shown.
    pub counts: Counts,
    /// Of all runs together, by operation, as in a run record.
    pub latency: BTreeMap<String, Latency>,
    /// Why the cell could not be run, or not in full; nothing else in it counts then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Wall time of all runs of the cell, milliseconds; left out where output must repeat to the
    /// byte.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elapsed_ms: Option<u64>,
    /// The directory of the run that is shown, relative to the matrix's own; there, if the matrix
    /// was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_dir: Option<String>,
    /// The command that repeats the run that is shown.
    pub reproduce: String,
}

/// How often a property came out how.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Runs in which it held.
    #[serde(default)]
    pub held: u64,
    /// Runs in which it was violated.
    #[serde(default)]
    pub violated: u64,
    /// Runs in which it could not be decided.
    #[serde(default)]
    pub unknown: u64,
    /// Runs in which it did not apply.
    #[serde(default)]
    pub not_applicable: u64,
    /// Of the violations: by cause.
    #[serde(
        default,
        skip_serializing_if = "BTreeMap::is_empty",
        deserialize_with = "read_causes"
    )]
    pub causes: BTreeMap<String, u64>,
}

/// Refuses names that are not causes, and says which ones are.
fn read_causes<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<String, u64>, D::Error> {
    let causes: BTreeMap<Cause, u64> = BTreeMap::deserialize(from)?;
    let words = causes.into_iter();
    Ok(words
        .map(|(cause, runs)| (cause.word().to_owned(), runs))
        .collect())
}

/// A property that came out otherwise than the scenario expects of the subject.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Surprise {
    /// The property.
    pub property: Property,
    /// What was expected.
    pub expected: String,
    /// What came out, in the same words.
    pub got: String,
    /// In how many runs.
    pub runs: u64,
}

impl Cell {
    /// True when it ran and nothing came out otherwise than expected.
    pub fn is_as_expected(&self) -> bool {
        self.error.is_none() && self.surprises.is_empty()
    }

    /// True when something was judged, and came out otherwise than expected.
    pub fn is_surprising(&self) -> bool {
        self.error.is_none() && self.surprises.iter().any(Surprise::is_judged)
    }

    /// True when the scenario expects something of the subject: else the cell is shown, not judged.
    pub fn is_bound(&self) -> bool {
        self.expected.values().any(|expected| expected != "any")
    }
}

impl Surprise {
    /// False when the property could only not be judged, which says nothing against the subject.
    pub fn is_judged(&self) -> bool {
        self.got != Status::Unknown.word()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_names_are_refused_with_the_list() {
        let known: Tally = serde_json::from_str(r#"{"violated":2,"causes":{"race":2}}"#).unwrap();
        assert_eq!(known.causes["race"], 2);
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
