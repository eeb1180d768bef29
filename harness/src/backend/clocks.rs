//! Wall clocks of nodes and workers.

use std::future::Future;

use super::Refusal;

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
