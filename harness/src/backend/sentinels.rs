//! Redis Sentinels, which fail nodes over by themselves.

use std::future::Future;

use super::Refusal;

/// Waiting for what the Sentinels do.
pub trait Sentinels {
    /// Waits until the Sentinels have promoted a replica of the node, whose master is frozen, and
    /// says in words which server is the master now.
    fn promoted_by_sentinels(&self, node: usize) -> impl Future<Output = Result<String, Refusal>>;
    /// Waits until the node's old master has been made a replica: then it is no longer stale.
    fn demoted_by_sentinels(&self, node: usize) -> impl Future<Output = ()>;
}
