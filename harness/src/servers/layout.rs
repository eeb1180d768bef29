//! How many servers a run has, and how they are started.

use picklock_scenarios::Persistence;

/// Which servers a run wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Independent nodes.
    pub nodes: usize,
    /// Replicas of each node.
    pub replicas: usize,
    /// Sentinels that watch all nodes.
    pub sentinels: usize,
    /// What each server keeps across a restart.
    pub persistence: Persistence,
    /// True: servers are started in such a way that their wall clocks can be shifted.
    pub clocks_shift: bool,
}
