//! Nodes: the Redis servers that the lock uses, their replicas, their Sentinels and their clocks.

use std::future::Future;

use super::Refusal;

/// Pausing and crashing nodes.
pub trait Nodes {
    /// Freezes a node; returns when it has stopped.
    fn pause_node(&self, node: usize) -> impl Future<Output = Result<(), Refusal>>;
    /// Lets a paused node continue.
    fn resume_node(&self, node: usize) -> impl Future<Output = Result<(), Refusal>>;
    /// Kills a node.
    fn crash_node(&self, node: usize) -> impl Future<Output = Result<(), Refusal>>;
    /// Starts a crashed node again, with what its persistence kept.
    fn restart_node(&self, node: usize) -> impl Future<Output = Result<(), Refusal>>;
}

/// Cutting replication, and promoting a replica.
pub trait Replication {
    /// Cuts the replication link of a node for good.
    fn cut_replication(&self, node: usize) -> impl Future<Output = Result<(), Refusal>>;
    /// Promotes the node's first replica, removes the old master, and leads the links to the new
    /// one.
    fn fail_over(&self, node: usize) -> impl Future<Output = Result<(), Refusal>>;
}

/// Waiting for what the Sentinels do.
pub trait Sentinels {
    /// Waits until the Sentinels have promoted a replica of the node, whose master is frozen, and
    /// says in words which server is the master now.
    fn promoted_by_sentinels(&self, node: usize) -> impl Future<Output = Result<String, Refusal>>;
    /// Waits until the node's old master has been made a replica: then it is no longer stale.
    fn demoted_by_sentinels(&self, node: usize) -> impl Future<Output = ()>;
}

/// Setting wall clocks.
pub trait Clocks {
    /// Sets the wall clock of the node's master ahead by this many nanoseconds (negative: behind).
    /// Everything that the node does afterwards sees it. If it is refused, the clock may be off
    /// all the same: a node that is down or paused cannot be asked.
    fn set_node_clock(&self, node: usize, off_ns: i64)
    -> impl Future<Output = Result<(), Refusal>>;
    /// The same for the worker's wall clock. It stays off when the worker is started again.
    fn set_worker_clock(
        &self,
        worker: usize,
        off_ns: i64,
    ) -> impl Future<Output = Result<(), Refusal>>;
}
