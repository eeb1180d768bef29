//! Nodes: the Redis servers that the lock uses, their replicas, their Sentinels and their clocks.

use super::Refusal;

/// Pausing and crashing nodes.
pub trait Nodes {
    /// Freezes a node; returns when it has stopped.
    async fn pause_node(&self, node: usize) -> Result<(), Refusal>;
    /// Lets a paused node continue. One that was killed meanwhile is no error.
    async fn resume_node(&self, node: usize) -> Result<(), Refusal>;
    /// Kills a node.
    async fn crash_node(&self, node: usize) -> Result<(), Refusal>;
    /// Starts a crashed node again, with what its persistence kept.
    async fn restart_node(&self, node: usize) -> Result<(), Refusal>;
}

/// Cutting replication, and promoting a replica.
pub trait Replication {
    /// Cuts the replication link of a node for good.
    async fn cut_replication(&self, node: usize) -> Result<(), Refusal>;
    /// Promotes the node's first replica, removes the old master, and leads the links to the new
    /// one.
    async fn fail_over(&self, node: usize) -> Result<(), Refusal>;
}

/// Waiting for what the Sentinels do.
pub trait Sentinels {
    /// Waits until the Sentinels have promoted a replica of the node, whose master is frozen, and
    /// says in words which server is the master now.
    async fn promoted_by_sentinels(&self, node: usize) -> Result<String, Refusal>;
    /// Waits until the node's old master has been made a replica: then it is no longer stale.
    async fn demoted_by_sentinels(&self, node: usize);
    /// True if the Sentinels have made another server the node's master since the run began, beside the promotions
    /// that were waited for.
    async fn failed_over_unasked(&self, node: usize) -> bool;
}

/// Setting wall clocks.
pub trait Clocks {
    /// Sets the wall clock of the node's master ahead by this many nanoseconds (negative: behind).
    /// Everything that the node does afterwards sees it. If it is refused, the clock may be off
    /// all the same: a node that is down or paused cannot be asked.
    async fn set_node_clock(&self, node: usize, off_ns: i64) -> Result<(), Refusal>;
    /// The same for the worker's wall clock. It stays off when the worker is started again.
    async fn set_worker_clock(&self, worker: usize, off_ns: i64) -> Result<(), Refusal>;
}
