use std::path::PathBuf;

use serde::{Deserialize, Serialize};

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
