//! The run record: the document that a run produces, and the only one that reports read.

use picklock_scenarios::BackendName;
use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::check::{Verdicts, Warning};
use crate::history::KeyHistoryCheck;

/// Format and version of a run record.
pub const FORMAT: &str = "picklock-run/1";

/// A run and its results.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// Always [`FORMAT`].
    pub format: String,
    /// Version of Picklock that produced the record.
    pub picklock: String,
    /// The lock.
    #[serde(rename = "impl")]
    pub lock: LockInfo,
    /// Name of the scenario.
    pub scenario: String,
    /// The scenario's own summary.
    pub summary: String,
    /// Name of the backend.
    pub backend: BackendName,
    /// Why this backend was chosen.
    pub backend_reason: String,
    /// Seed of the run.
    pub seed: u64,
    /// The Redis servers.
    pub redis: Redis,
    /// Number of workers.
    pub workers: usize,
    /// Number of independent nodes.
    pub nodes: usize,
    /// Lease time in milliseconds.
    pub ttl_ms: u64,
    /// The verdict of each property.
    pub verdicts: Verdicts,
    /// Counts of events.
    pub counts: Counts,
    /// Latencies by operation, such as `acquire` and `release`. In an open loop, `acquire` counts from the buyer's
    /// arrival, and `acquire_requested` from the worker's request.
    pub latency: BTreeMap<String, Latency>,
    /// The faults of the run, in the order in which they fired.
    pub faults: Vec<FiredFault>,
    /// Facts about the lock that no property judges, but that its user should know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
    /// Descriptions of protocol violations, unexpected deaths and stalls.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trouble: Vec<String>,
    /// Durations of the phases.
    pub phases: Phases,
    /// Whether the user interrupted the run.
    #[serde(default)]
    pub interrupted: bool,
    /// The command that repeats the run.
    pub reproduce: String,
}

/// The lock under test.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockInfo {
    /// The value of `--impl`, or the name that the adapter reports.
    pub name: String,
    /// The adapter's own version, or Picklock's version for a built-in lock.
    pub version: String,
}

/// The Redis servers of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Redis {
    /// `redis` or `valkey`.
    pub server: String,
    /// The version that the server reports.
    pub version: String,
}

impl Redis {
    /// Returns `true` if both are the same server with the same major and minor version, so that their measurements are
    /// comparable.
    pub fn is_like(&self, other: &Redis) -> bool {
        let (mine, theirs) = (self.version.split('.'), other.version.split('.'));
        self.server == other.server && mine.take(2).eq(theirs.take(2))
    }
}

impl fmt::Display for Redis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.server, self.version)
    }
}

/// Counts of events.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Grants.
    pub granted: u64,
    /// Refusals.
    pub refused: u64,
    /// Attempts, extensions and releases that ended in an error.
    pub failed: u64,
    /// Background renewals, and granted requests to extend.
    pub extended: u64,
    /// Releases that reported success.
    pub released: u64,
    /// Units sold, over all keys.
    pub sold: i64,
    /// Units at the start, over all keys.
    pub stock_start: i64,
    /// Units left, over all keys.
    pub stock_left: i64,
    /// Buyers that arrived; only in an open loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrived: Option<u64>,
    /// Buyers that no worker had begun to serve when the run ended; only in an open loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unserved: Option<u64>,
    /// Commands that workers sent while they acquired; absent if commands were not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commands: Option<u64>,
    /// Total duration of all requests to acquire, in milliseconds; absent if commands were not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waited_ms: Option<u64>,
    /// Commands per second of waiting for the answer to a request to acquire.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting_per_s: Option<u64>,
    /// Commands per second of holding, from the answer to the request to release.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holding_per_s: Option<u64>,
    /// Number of keys that a script changed although its command had not declared them.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub undeclared_keys: u64,
    /// Confirmation of the key history by the servers, if they were compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_history: Option<KeyHistoryCheck>,
}

impl Counts {
    /// Returns the number of commands per grant, counting failed attempts as well.
    pub fn commands_per_grant(&self) -> Option<f64> {
        let commands = self.commands.filter(|_| self.granted > 0)?;
        Some(commands as f64 / self.granted as f64)
    }
}

/// Latency of one operation, from its HdrHistogram.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(
    missing_docs,
    reason = "percentiles in microseconds; the names say which"
)]
pub struct Latency {
    pub count: u64,
    pub p50_us: u64,
    pub p90_us: u64,
    pub p99_us: u64,
    pub p999_us: u64,
    pub max_us: u64,
    /// HdrHistogram V2, deflate, base64; values in microseconds.
    pub histogram: String,
}

/// A fault as it happened.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FiredFault {
    /// The kind of fault.
    pub fault: String,
    /// Its description for people.
    pub detail: String,
    /// When it began, in nanoseconds since the run began, or `None` if it never fired.
    pub began_ns: Option<u64>,
    /// When it ended, or `None` if it lasted to the end of the run.
    pub ended_ns: Option<u64>,
    /// The workers that it affected.
    #[serde(default)]
    pub workers: Vec<usize>,
    /// The nodes that it affected.
    #[serde(default)]
    pub nodes: Vec<usize>,
}

/// The durations of a run's phases in milliseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names say which")]
pub struct Phases {
    pub setup_ms: u64,
    pub workload_ms: u64,
    pub teardown_ms: u64,
}
