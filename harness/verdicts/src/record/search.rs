//! The record of a search: what was tried on one lock, how much that covers, and what was found.

use std::collections::{BTreeMap, BTreeSet};

use picklock_scenarios::{BackendName, Scenario};
use serde::{Deserialize, Serialize};

use super::run::LockInfo;
use crate::check::{Cause, Property};

/// Format and version of the record of a search.
pub const SEARCH_FORMAT: &str = "picklock-search/1";

/// What a search tried, and what came out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SearchRecord {
    /// Always [`SEARCH_FORMAT`].
    pub format: String,
    /// Version of picklock that made it.
    pub picklock: String,
    /// How it chose what to try.
    pub kind: SearchKind,
    /// The lock.
    #[serde(rename = "impl")]
    pub lock: LockInfo,
    /// Its options, from `--impl-option`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, String>,
    /// Where it ran.
    pub backend: BackendName,
    /// Seed of every run of a sweep; what the plans of a hunt are drawn from.
    pub seed: u64,
    /// What it was asked for beside lock and seed, as one value: two records with the same are parts of one search.
    pub asked: Asked,
    /// How many faults a plan of a sweep has at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth: Option<usize>,
    /// The parts of the search that are in this record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shards: Option<Shards>,
    /// How many runs were made and judged, without those of shrinking.
    pub schedules: u64,
    /// How many of them had a find.
    pub violations: u64,
    /// Every placement of up to `depth` faults of the vocabulary was run, or shown to equal one that was.
    pub exhaustive: bool,
    /// Everything was tried that this part of the search was asked for.
    #[serde(default)]
    pub complete: bool,
    /// The user interrupted it.
    #[serde(default)]
    pub interrupted: bool,
    /// How long it took, in seconds of real time.
    pub elapsed_s: f64,
    /// How much was tried.
    pub coverage: Coverage,
    /// What was found, the simplest first.
    pub counterexamples: Vec<Counterexample>,
    /// The repro file of the first find, if it was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repro: Option<String>,
    /// The command that repeats the search.
    pub reproduce: String,
}

/// How a search chooses what to try.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SearchKind {
    /// Every placement of faults, in order.
    Sweep,
    /// Random plans.
    Hunt,
}

/// What a search was asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    /// Name of the workload; left out for a hunt, which draws them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<String>,
    /// Hash of the scenario that all plans of a sweep share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scenario_hash: Option<String>,
    /// The groups of faults.
    pub faults: Vec<String>,
    /// The properties that count. Empty: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub properties: Vec<Property>,
    /// A client that outlives its lease counts as a find against `exclusion`.
    #[serde(default)]
    pub outlived_lease: bool,
    /// How many plans a hunt was to try, if it was told a number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runs: Option<u64>,
    /// A hunt without bias and memory.
    #[serde(default)]
    pub uniform: bool,
}

/// Which parts of a search a record has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shards {
    /// How many there are.
    pub of: u64,
    /// Those that are here, counted from 1.
    pub have: BTreeSet<u64>,
}

impl Shards {
    /// Those that are not here.
    pub fn missing(&self) -> Vec<u64> {
        let all = 1..=self.of;
        all.filter(|one| !self.have.contains(one)).collect()
    }
}

/// How much a search has tried.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coverage {
    /// The moments of the run without faults. Zero for a hunt.
    pub injection_points: u64,
    /// The faults of the vocabulary, in the words of scenario files.
    pub faults: Vec<String>,
    /// Places for the first fault: each fault at each moment that it can have.
    pub placements: u64,
    /// Plans that were not run because another one that was is the same run.
    pub pruned: u64,
    /// Runs in which a fault did not strike, because its target was gone or its moment never came.
    pub missed: u64,
    /// How often each kind of fault was placed at each sort of moment; left out by older versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub placed: Vec<Placed>,
    /// Runs in which a property was neither held nor violated, by property.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub inconclusive: BTreeMap<Property, u64>,
    /// Plans whose simulation did not end.
    pub stuck: u64,
    /// On servers: plans with a violation that did not come again when they were repeated.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub unrepeated: u64,
    /// For a hunt: different patterns of key history and protocol that its runs have shown.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub patterns: u64,
    /// What was the same in all runs, in words.
    pub fixed: Vec<String>,
}

/// A kind of fault at a sort of moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placed {
    /// The moment: `reply SET during acquire`.
    pub moment: String,
    /// The kind of fault.
    pub fault: String,
    /// How many schedules had it there.
    pub schedules: u64,
    /// How many of them had a find.
    pub counterexamples: u64,
}

/// One way in which the lock fails, shrunk. Told apart by property, cause and shape.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Counterexample {
    /// The property that is violated.
    pub property: Property,
    /// Why.
    pub cause: Cause,
    /// The kinds of its faults, and at what they strike.
    pub signature: Vec<String>,
    /// Its faults in words.
    pub faults: Vec<String>,
    /// How many schedules had it, or one like it.
    pub schedules: u64,
    /// The number of the first one, counted from 1.
    pub first: u64,
    /// It comes with other latencies, too, or came again on servers.
    #[serde(default)]
    pub robust: bool,
    /// After how many seconds it was seen, if that was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_s: Option<f64>,
    /// What happens.
    pub story: Vec<String>,
    /// The seed of its run.
    pub seed: u64,
    /// The scenario: everything else that its run needs.
    pub scenario: Scenario,
    /// Its repro file, if that was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repro: Option<String>,
    /// The command that repeats it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reproduce: String,
    /// Of a shard: what it was shrunk from, so that shards that are joined tell what one process tells.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unshrunk: Vec<Unshrunk>,
}

/// What a find was shrunk from: schedules of one shape.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unshrunk {
    /// Their shape.
    pub signature: Vec<String>,
    /// The place of the first one in the order of the search, among those with as many faults.
    pub place: Vec<u64>,
    /// It comes with other latencies, too.
    pub robust: bool,
    /// How many there are.
    pub schedules: u64,
}
