//! Replication between a node's master and its replicas.

use std::future::Future;

use super::Refusal;

/// Cutting replication, and promoting a replica.
pub trait Replication {
    /// Cuts the replication link of a node for good.
    fn cut_replication(&self, node: usize) -> impl Future<Output = Result<(), Refusal>>;
    /// Promotes the node's first replica, removes the old master, and leads the links to the new
    /// one.
    fn fail_over(&self, node: usize) -> impl Future<Output = Result<(), Refusal>>;
}
