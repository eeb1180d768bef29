//! The table `[topology]` of a scenario.

use serde::{Deserialize, Serialize};

use crate::string_enum::is_default;

/// The Redis servers of a scenario.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Topology {
    /// Number of independent nodes. If omitted, the scenario has as many as the lock uses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nodes: Option<usize>,
    /// Minimum number of nodes that a lock must use for the scenario to make sense (for example for a quorum in which
    /// one node loses its vote). If omitted, the scenario suits every lock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_nodes: Option<usize>,
    /// Number of replicas per node.
    pub replicas: usize,
    /// Number of Redis Sentinels that watch every node and fail it over automatically. Workers then query them for a
    /// node's master.
    #[serde(skip_serializing_if = "is_default")]
    pub sentinels: usize,
    /// The data that a node keeps over a restart.
    pub persistence: Persistence,
}

impl Topology {
    /// Maximum number of independent nodes in a run.
    pub const MAX_NODES: usize = 64;
    /// Maximum number of replicas per node.
    pub const MAX_REPLICAS: usize = 8;

    /// Returns a message if a lock with `count` nodes uses too few for the scenario, or `None` if it uses enough.
    pub fn lacks_nodes(&self, count: usize) -> Option<String> {
        let min = self.min_nodes.filter(|min| *min > count)?;
        Some(format!("needs {min} Redis nodes; this lock uses {count}"))
    }
}

/// The data that a Redis node writes to disk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Persistence {
    /// Nothing: a restarted node is empty.
    #[default]
    None,
    /// Snapshots.
    Rdb,
    /// Append-only file, synced every second.
    AofEverysec,
    /// Append-only file, synced at every write.
    AofAlways,
}
