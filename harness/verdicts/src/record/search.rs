//! The record of a search: the fault plans that were tried on a lock, their coverage, and the counterexamples.

use std::collections::{BTreeMap, BTreeSet};

use picklock_scenarios::{BackendName, Scenario};
use serde::{Deserialize, Serialize};

use super::run::LockInfo;
use crate::check::{Cause, Property};

/// Format and version of the record of a search.
pub const SEARCH_FORMAT: &str = "picklock-search/1";

/// The results of a search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SearchRecord {
    /// Always [`SEARCH_FORMAT`].
    pub format: String,
    /// Version of Picklock that produced the record.
    pub picklock: String,
    /// The search strategy.
    pub kind: SearchKind,
    /// The lock.
    #[serde(rename = "impl")]
    pub lock: LockInfo,
    /// The lock's options, from `--impl-option`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, String>,
    /// The backend of the runs.
    pub backend: BackendName,
    /// Seed of every run of a sweep; seed from which a hunt generates its plans.
    pub seed: u64,
    /// The parameters of the search besides lock and seed. Records with equal parameters are parts of one search.
    pub settings: SearchSettings,
    /// Maximum number of faults per plan of a sweep.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth: Option<usize>,
    /// The shards of the search that this record covers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shards: Option<Shards>,
    /// Number of judged runs, excluding those for shrinking.
    pub schedules: u64,
    /// Number of runs with a counterexample.
    pub violations: u64,
    /// Whether every placement of up to `depth` faults of the fault model was run, or shown to be equivalent to one
    /// that was run.
    pub exhaustive: bool,
    /// Whether this part of the search tried everything that it was requested to try.
    #[serde(default)]
    pub complete: bool,
    /// Whether the user interrupted the search.
    #[serde(default)]
    pub interrupted: bool,
    /// Number of the plan with which an interrupted hunt continues.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub next: u64,
    /// Wall time in seconds.
    pub elapsed_s: f64,
    /// Coverage of the search.
    pub coverage: Coverage,
    /// The counterexamples, simplest first.
    pub counterexamples: Vec<Counterexample>,
    /// The repro file of the first counterexample, if it was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repro: Option<String>,
    /// The command that repeats the search.
    pub reproduce: String,
}

/// How a search chooses its plans.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SearchKind {
    /// Every placement of faults, in order.
    Sweep,
    /// Random plans.
    Hunt,
}

/// The parameters of a search.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SearchSettings {
    /// Name of the workload; absent for a hunt, which generates workloads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<String>,
    /// Hash of the scenario that all plans of a sweep share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scenario_hash: Option<String>,
    /// The groups of faults.
    pub faults: Vec<String>,
    /// The properties whose violations count. If this is empty, all properties count.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub properties: Vec<Property>,
    /// Whether an `exclusion` violation by a client that outlives its lease counts.
    #[serde(default)]
    pub outlived_lease: bool,
    /// Number of plans that a hunt was requested to try, if it was limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runs: Option<u64>,
    /// Whether the hunt draws plans uniformly, without learning from earlier runs.
    #[serde(default)]
    pub uniform: bool,
}

/// The shards of a search that a record covers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shards {
    /// Total number of shards.
    pub of: u64,
    /// The covered shards, counted from 1.
    pub have: BTreeSet<u64>,
}

impl Shards {
    /// Returns the shards that are not covered.
    pub fn missing(&self) -> Vec<u64> {
        let all = 1..=self.of;
        all.filter(|entry| !self.have.contains(entry)).collect()
    }
}

/// The coverage of a search.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coverage {
    /// Number of injection points in the run without faults; 0 for a hunt.
    pub injection_points: u64,
    /// The faults of the fault model, in the notation of scenario files.
    pub faults: Vec<String>,
    /// Number of placements of the first fault: pairs of a fault and an injection point at which it can fire.
    pub placements: u64,
    /// Number of plans that were skipped because they are equivalent to a plan that was run.
    pub pruned: u64,
    /// Number of runs in which a fault did not fire, because its target was gone or its trigger did not occur.
    pub missed: u64,
    /// Number of placements of each kind of fault at each kind of injection point; absent in older records.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub placed: Vec<Placed>,
    /// Number of inconclusive runs per property.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub inconclusive: BTreeMap<Property, u64>,
    /// Number of plans whose simulation did not end.
    pub stuck: u64,
    /// Number of plans on servers with a violation that did not recur when repeated.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub unrepeated: u64,
    /// Violations that are not counterexamples because every lock on such servers shows them, such as
    /// `lease: evicted`, with the number of runs.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub unavoidable: BTreeMap<String, u64>,
    /// Number of distinct patterns of key history and protocol that the runs of a hunt have shown.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub patterns: u64,
    /// Descriptions of the parameters that were the same in all runs.
    pub fixed: Vec<String>,
}

/// A kind of fault at a kind of injection point.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placed {
    /// The kind of injection point, such as `reply SET during acquire`.
    pub injection_point: String,
    /// The kind of fault.
    pub fault: String,
    /// Number of plans with this kind of fault at this kind of injection point.
    pub schedules: u64,
    /// Number of those plans with a counterexample.
    pub counterexamples: u64,
}
/// One way in which the lock fails, after shrinking. Counterexamples are distinguished by property, cause and
/// signature.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Counterexample {
    /// The violated property.
    pub property: Property,
    /// The cause of the violation.
    pub cause: Cause,
    /// The signature: the kinds of its faults, and the kinds of their injection points.
    pub signature: Vec<String>,
    /// Descriptions of its faults. After shrinking, the violation needs all of them.
    pub faults: Vec<String>,
    /// Descriptions of the faults of the first such plan that the violation does not need, because shrinking could
    /// remove them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_needed: Vec<String>,
    /// Number of plans with this counterexample, or with one that it explains.
    pub schedules: u64,
    /// Number of the first such plan, counted from 1.
    pub first: u64,
    /// Whether the violation recurs with different latencies, or recurred on servers.
    #[serde(default)]
    pub robust: bool,
    /// How often the violation recurred, or `None` if its run can be repeated exactly.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recurred: Option<Recurred>,
    /// Seconds until it was found, if this was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_s: Option<f64>,
    /// The story of the violation.
    pub story: Vec<String>,
    /// Seed of its run.
    pub seed: u64,
    /// The scenario, which contains everything else that its run needs.
    pub scenario: Scenario,
    /// Its repro file, if it was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repro: Option<String>,
    /// The command that repeats it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reproduce: String,
    /// In a shard, the groups from which the counterexample was shrunk. A merge uses them to compute the result of an
    /// unsharded search.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unshrunk: Vec<Unshrunk>,
}

/// How often a violation occurred in repetitions of one run on servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recurred {
    /// Number of runs with the violation.
    pub times: u64,
    /// Number of runs, including the first.
    pub runs: u64,
}

/// A group of plans with one signature, before shrinking.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unshrunk {
    /// The signature of the plans.
    pub signature: Vec<String>,
    /// Position of the first plan in the order of the search, among plans with the same number of faults.
    pub place: Vec<u64>,
    /// Whether it recurs with different latencies.
    pub robust: bool,
    /// Number of plans.
    pub schedules: u64,
}
