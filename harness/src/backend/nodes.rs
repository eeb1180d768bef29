//! Nodes: the Redis servers that the lock uses, as processes.

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
