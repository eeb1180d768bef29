//! The repro: everything needed to repeat a run, in one document.

use std::collections::BTreeMap;
use std::path::PathBuf;

use picklock_scenarios::{BackendName, LeaseDuration, Scenario};
use serde::de::{Deserializer, Error as _, Unexpected};
use serde::{Deserialize, Serialize, Serializer};

use crate::check::{Cause, Property, Status, Verdict, Verdicts};

/// Format and version of a repro.
pub const REPRO_FORMAT: &str = "picklock-repro/1";

/// Everything needed to repeat a run, and its verdicts. It contains the scenario, so later changes
/// of the catalog or of the scenario file do not matter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Repro {
    /// Always [`REPRO_FORMAT`].
    pub format: String,
    /// Version of Picklock that executed the run.
    pub picklock: String,
    /// The backend of the run.
    pub backend: BackendName,
    /// Seed of the run, written as a string if it exceeds the range of TOML integers.
    #[serde(serialize_with = "write_seed", deserialize_with = "read_seed")]
    pub seed: u64,
    /// The scenario as the user gave it: a name from the catalog, or a path.
    pub scenario_given: String,
    /// The lock.
    pub lock: ReproLock,
    /// The command-line overrides.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub overrides: ReproOverrides,
    /// The verdicts.
    pub verdicts: BTreeMap<Property, RecordedVerdict>,
    /// The scenario with the overrides applied.
    pub scenario: Scenario,
}

/// The lock under test, as a repro describes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReproLock {
    /// The value of `--impl`: a built-in lock, or `exec:` and the command of its adapter.
    pub name: String,
    /// The label that the user assigned to the program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The program's working directory as an absolute path; the directory of `picklock replay` if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// Number of independent nodes on which the program takes its lock; one if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<usize>,
    /// Minimum number of replicas per node that the program needs; none if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicas: Option<usize>,
    /// Whether the program promises to renew its lease while its client works.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub renews: bool,
    /// The declared time for which a key stays after a release, in milliseconds; none if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_hold_ms: Option<u64>,
    /// The declared time by which a key lives longer than the lease, in milliseconds; none if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_margin_ms: Option<u64>,
    /// Whether the program needs all of its nodes instead of a majority.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub needs_every_node: bool,
    /// The adapter's own version, or Picklock's version for a built-in lock.
    pub version: String,
    /// The lock's options, from `--impl-option`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, String>,
    /// Variables to add to the program's environment.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub environment: BTreeMap<String, String>,
}

/// The command-line overrides of the scenario and the backend.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReproOverrides {
    /// Number of competing workers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workers: Option<usize>,
    /// Number of independent nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<usize>,
    /// Lease time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl: Option<LeaseDuration>,
    /// The server, by its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// Docker image of the nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// Path of the server's binary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redis_server: Option<String>,
    /// Servers that are already running.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub servers: Option<ServersTable>,
}

/// The verdict on one property.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedVerdict {
    /// The verdict.
    pub status: Status,
    /// The cause of a violation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
}

impl RecordedVerdict {
    /// Returns the status and cause of each property, without the stories.
    pub fn from_verdicts(verdicts: &Verdicts) -> BTreeMap<Property, RecordedVerdict> {
        let all = verdicts.iter();
        all.map(|(property, verdict)| (*property, verdict.into()))
            .collect()
    }
}

impl From<&Verdict> for RecordedVerdict {
    fn from(verdict: &Verdict) -> RecordedVerdict {
        RecordedVerdict {
            status: verdict.status,
            cause: verdict.cause,
        }
    }
}

impl From<Status> for RecordedVerdict {
    fn from(status: Status) -> RecordedVerdict {
        RecordedVerdict {
            status,
            cause: None,
        }
    }
}

impl std::fmt::Display for RecordedVerdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.status.as_str())?;
        match self.cause {
            Some(cause) => write!(f, ": {cause}"),
            None => Ok(()),
        }
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands every field over by reference"
)]
fn write_seed<S: Serializer>(seed: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    match i64::try_from(*seed) {
        Ok(seed) => serializer.serialize_i64(seed),
        Err(_) => serializer.collect_str(seed),
    }
}

fn read_seed<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "expected a whole number, 0 or more")]
    enum Written {
        Number(i64),
        Text(String),
    }
    let expected = &"a whole number, 0 or more";
    match Written::deserialize(deserializer)? {
        Written::Number(seed) => u64::try_from(seed)
            .map_err(|_| D::Error::invalid_value(Unexpected::Signed(seed), expected)),
        Written::Text(text) => text
            .parse()
            .map_err(|_| D::Error::invalid_value(Unexpected::Str(&text), expected)),
    }
}

/// Servers that Picklock does not start, in the form of the `[servers]` table of a `picklock.toml` or a repro. It
/// contains no passwords: a URL names the environment variable that contains one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServersTable {
    /// The servers' URLs, one per node.
    pub redis: Vec<String>,
    /// The prefix of all key names, or `None` for a prefix that is unique to the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
    /// The file with the trusted CA certificates, or `None` for the certificates of this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca: Option<PathBuf>,
    /// The file with the client's certificate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cert: Option<PathBuf>,
    /// The file with the key of the client's certificate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<PathBuf>,
}
