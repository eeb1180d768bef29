//! The run record: the document that a run produces, and the only one that reports read.

use picklock_scenarios::BackendName;
use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::check::Verdicts;
use crate::history::KeyHistoryCheck;

/// Format and version of a run record.
pub const FORMAT: &str = "picklock-run/1";

/// A run and its results.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// Always [`FORMAT`].
    pub format: String,
    /// Version of picklock that made it.
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
    /// Why that backend.
    pub backend_reason: String,
    /// Seed of the run.
    pub seed: u64,
    /// The Redis servers.
    pub redis: Redis,
    /// Number of workers.
    pub workers: usize,
    /// Number of independent nodes.
    pub nodes: usize,
    /// Lease time, milliseconds.
    pub ttl_ms: u64,
    /// One for each property.
    pub verdicts: Verdicts,
    /// Counts of events.
    pub counts: Counts,
    /// By operation: `acquire`, `release`; in an open loop `acquire` counts from the buyer's
    /// arrival, and `acquire_asked` from the worker's request.
    pub latency: BTreeMap<String, Latency>,
    /// Faults as they struck.
    pub faults: Vec<FiredFault>,
    /// Workers that violated the protocol, and workers and nodes that died on their own, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trouble: Vec<String>,
    /// How long the phases took.
    pub phases: Phases,
    /// True when the user interrupted the run.
    #[serde(default)]
    pub interrupted: bool,
    /// The command that repeats it.
    pub reproduce: String,
}

/// The lock under test.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockInfo {
    /// As given to `--impl`, or as the adapter names itself.
    pub name: String,
    /// The adapter's own, or picklock's for built-in locks.
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
    /// True if both are one version of one server, up to the patch level: their figures may be compared.
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
    /// Renewals in the background, and extensions that a holder asked for and got.
    pub extended: u64,
    /// Releases that claimed success.
    pub released: u64,
    /// Units sold, all keys together.
    pub sold: i64,
    /// Units at the start, all keys together.
    pub stock_start: i64,
    /// Units left, all keys together.
    pub stock_left: i64,
    /// Buyers who arrived; only in an open loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrived: Option<u64>,
    /// How many of them no worker had begun to serve when the run ended; only in an open loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unserved: Option<u64>,
    /// Commands that workers sent while they acquired; left out: they were not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commands: Option<u64>,
    /// How long all requests to acquire took together, milliseconds; left out as well then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waited_ms: Option<u64>,
    /// Commands that workers sent in each second in which they waited for an answer to a request to acquire.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting_per_s: Option<u64>,
    /// Commands that holders sent in each second, from the answer on until they were told to release.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holding_per_s: Option<u64>,
    /// Keys that a script changed and its command had not declared.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub undeclared_keys: u64,
    /// What a look at the servers' keys has confirmed of the key history, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_history: Option<KeyHistoryCheck>,
}

impl Counts {
    /// Commands for each grant, those of attempts that failed included.
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

/// A fault as it struck.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FiredFault {
    /// Its kind.
    pub fault: String,
    /// In words.
    pub detail: String,
    /// When it began, nanoseconds since the run began; `None`: it never struck.
    pub began_ns: Option<u64>,
    /// When it was over; `None`: it lasted to the end.
    pub ended_ns: Option<u64>,
    /// Workers it struck.
    #[serde(default)]
    pub workers: Vec<usize>,
    /// Nodes it struck.
    #[serde(default)]
    pub nodes: Vec<usize>,
}

/// How long the phases of a run took, milliseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names say which")]
pub struct Phases {
    pub setup_ms: u64,
    pub workload_ms: u64,
    pub teardown_ms: u64,
}
