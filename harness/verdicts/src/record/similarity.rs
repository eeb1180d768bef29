//! Which built-in lock a lock without expectations behaves like.

use picklock_scenarios::BackendName;
use serde::{Deserialize, Serialize};

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
