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
    /// Version of picklock that ran it.
    pub picklock: String,
    /// The backend in which it ran.
    pub backend: BackendName,
    /// Seed of the run. Written as text if it exceeds the integers of TOML.
    #[serde(serialize_with = "write_seed", deserialize_with = "read_seed")]
    pub seed: u64,
    /// The scenario as given by the user: a name of the catalog, or a path.
    pub scenario_given: String,
    /// The lock.
    pub lock: ReproLock,
    /// The overrides of the command line.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub overrides: ReproOverrides,
    /// The verdicts.
    pub verdicts: BTreeMap<Property, RecordedVerdict>,
    /// The scenario, with the overrides in it.
    pub scenario: Scenario,
}

/// The lock of a repro.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReproLock {
    /// As given after `--impl`: a built-in lock, or `exec:` and the command of its adapter.
    pub name: String,
    /// The label that the user gave the program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The program's working directory, an absolute path. Left out: that of `picklock replay`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// How many independent nodes the program takes its lock on. Left out: one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<usize>,
    /// How many replicas of each node the program needs at least. Left out: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicas: Option<usize>,
    /// The program promises to renew its lease while its client works.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub renews: bool,
    /// The program needs all of its nodes, and not a majority.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub needs_every_node: bool,
    /// The adapter's own version, or picklock's for built-in locks.
    pub version: String,
    /// Its options, from `--impl-option`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, String>,
    /// Variables that are added to the program's environment.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub environment: BTreeMap<String, String>,
}

/// The overrides of the command line, for the scenario and for the backend.
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
    /// The server by its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// Docker image of the nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// The server's binary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redis_server: Option<String>,
    /// Servers that somebody else has started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub servers: Option<ServersTable>,
}

/// The verdict on one property.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedVerdict {
    /// The verdict.
    pub status: Status,
    /// Why it was violated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
}

impl RecordedVerdict {
    /// The outcome of each property, without the story.
    pub fn record_verdicts(verdicts: &Verdicts) -> BTreeMap<Property, RecordedVerdict> {
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
    #[serde(untagged)]
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

/// Servers that Picklock does not start, as text: `[servers]` of a `picklock.toml`, and of a repro file. No
/// password is in it: a URL names the environment variable that holds it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServersTable {
    /// Their URLs, one for each node.
    pub redis: Vec<String>,
    /// What the names of all keys begin with; `None`: words that no other run has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
    /// The file with the certificates of the authorities to trust; `None`: those of this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca: Option<PathBuf>,
    /// The file with the client's certificate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cert: Option<PathBuf>,
    /// The file with the key of the client's certificate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<PathBuf>,
}
