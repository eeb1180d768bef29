//! Nodes: the Redis servers that the lock uses, their replicas, their Sentinels and their clocks.

use super::Refusal;

/// Pausing and crashing nodes.
pub trait Nodes {
    /// Freezes a node. Returns once it has stopped.
    async fn pause_node(&self, node: usize) -> Result<(), Refusal>;
    /// Resumes a paused node. A node that was killed in the meantime is not an error.
    async fn resume_node(&self, node: usize) -> Result<(), Refusal>;
    /// Kills a node.
    async fn crash_node(&self, node: usize) -> Result<(), Refusal>;
    /// Starts a crashed node again, with the data that its persistence saved.
    async fn restart_node(&self, node: usize) -> Result<(), Refusal>;
}

/// Replication faults.
pub trait Replication {
    /// Cuts the replication link of a node permanently.
    async fn cut_replication(&self, node: usize) -> Result<(), Refusal>;
    /// Promotes the node's first replica, removes the old master, and redirects the links to the new master.
    async fn fail_over(&self, node: usize) -> Result<(), Refusal>;
}

/// Failovers by Sentinels.
pub trait Sentinels {
    /// Waits until the Sentinels have promoted a replica of the node. The node's master must be frozen. Returns a
    /// description of the promotion.
    async fn promoted_by_sentinels(&self, node: usize) -> Result<String, Refusal>;
    /// Waits until the Sentinels have turned the node's stale master into a replica.
    async fn demoted_by_sentinels(&self, node: usize);
    /// Returns `true` if the Sentinels have promoted a server of the node since the run began, apart from the
    /// promotions that [`Sentinels::promoted_by_sentinels`] waited for.
    async fn failed_over_spontaneously(&self, node: usize) -> bool;
}

/// Offsets of wall clocks.
pub trait Clocks {
    /// Sets the wall clock of the node's master to `off_ns` nanoseconds ahead of the machine's (negative: behind). The
    /// offset applies to everything that the node does afterwards. The clock may be off even after an error, because a
    /// node that is down or paused cannot confirm the change.
    async fn set_node_clock(&self, node: usize, off_ns: i64) -> Result<(), Refusal>;
    /// Sets the worker's wall clock in the same way. The offset persists when the worker is restarted.
    async fn set_worker_clock(&self, worker: usize, off_ns: i64) -> Result<(), Refusal>;
}
