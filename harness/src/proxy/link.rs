//! The names of links.

use std::fmt;

/// The link between one worker and one node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LinkId {
    /// Number of the worker, from 0.
    pub worker: usize,
    /// Number of the node, from 0.
    pub node: usize,
}

/// The link to one of the servers that can be the node's master. Without Sentinels, there is only the first server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct ServerLink {
    pub link: LinkId,
    /// Number of the server among the servers of the node, from 0.
    pub server: usize,
}

impl fmt::Display for LinkId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the link of client {} to node {}",
            self.worker, self.node
        )
    }
}
