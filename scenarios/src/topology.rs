use serde::{Deserialize, Serialize};

use crate::string_enum::is_default;

/// The Redis servers of a scenario.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Topology {
    /// Independent nodes. If omitted: as many as the lock wants.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nodes: Option<usize>,
    /// The scenario makes sense only for locks that use at least this many nodes (for example a
    /// quorum of which one node forgets). If omitted: for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_nodes: Option<usize>,
    /// Replicas of each node.
    pub replicas: usize,
    /// Redis Sentinels that watch every node and fail it over automatically. Workers then ask them
    /// for a node's master.
    #[serde(skip_serializing_if = "is_default")]
    pub sentinels: usize,
    /// What a node keeps over a restart.
    pub persistence: Persistence,
}

impl Topology {
    /// The most independent nodes of a run.
    pub const MAX_NODES: usize = 64;
    /// The most replicas of each node.
    pub const MAX_REPLICAS: usize = 8;

    /// Why a lock that uses so many nodes uses too few, in words; `None`: it uses enough.
    pub fn lacks_nodes(&self, count: usize) -> Option<String> {
        let least = self.min_nodes.filter(|least| *least > count)?;
        Some(format!("needs {least} Redis nodes; this lock uses {count}"))
    }
}

/// What a Redis node writes to disk.
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
