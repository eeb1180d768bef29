//! What is found on the nodes after the run.

use std::future::Future;

/// Looking at nodes, past the links.
pub trait Probe {
    /// Remaining life of a key on a node, milliseconds; −1 without expiry; `None`: no such key, or
    /// the node does not answer.
    fn key_ttl_ms(&self, node: usize, key: &str) -> impl Future<Output = Option<i64>>;

    /// Why a node does not answer, although no fault is on; `None`: it does. A backend whose nodes
    /// cannot die by themselves need not look.
    fn why_lost(&self, _node: usize) -> impl Future<Output = Option<String>> {
        std::future::ready(None)
    }
}
