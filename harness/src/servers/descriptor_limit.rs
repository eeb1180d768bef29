//! File descriptors: the number that a run needs, and the limit of this process.
//!
//! A process without free descriptors cannot accept connections, which looks to a client like a server that does not
//! answer. So the number of descriptors is estimated before anything is started.

use std::sync::OnceLock;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::BackendError;

/// Descriptors that are open briefly while a process is started, a server is queried, or `/proc` is read.
const TEMPORARY: u64 = 16;

/// Descriptors per server: its process, its output, the file for its output, and the two connections that observe its
/// keys.
const EACH_SERVER: u64 = 5;

/// Descriptors per worker: its process, its three standard streams, and the file of its standard error.
const EACH_WORKER: u64 = 5;

/// Descriptors per link: its listener, and both sides of one connection. A lock may open more connections.
const EACH_LINK: u64 = 3;

/// The limit that this process had at its start.
static INHERITED: OnceLock<Rlimit> = OnceLock::new();

/// The numbers that determine how many descriptors a run needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DescriptorNeed {
    /// Number of workers.
    pub workers: usize,
    /// Number of independent nodes.
    pub nodes: usize,
    /// Number of servers, replicas and Sentinels.
    pub servers: usize,
    /// Number of links per worker, including those to Sentinels.
    pub links: usize,
}

impl DescriptorNeed {
    /// Returns the minimum number of descriptors that the run opens, with one connection per link.
    fn count(&self) -> u64 {
        let links = self.links as u64 * EACH_LINK;
        let workers = self.workers as u64 * (EACH_WORKER + links);
        workers + self.servers as u64 * EACH_SERVER + TEMPORARY
    }

    /// Raises the soft limit of this process to the hard limit, and checks that it is sufficient.
    ///
    /// # Errors
    /// Returns [`BackendError::TooFewDescriptors`] if the limit is too low.
    pub fn ensure(&self) -> Result<(), BackendError> {
        let limit = raise();
        let open = std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count) as u64;
        self.fits(open, limit)
    }

    /// Checks the limit. `open` is the number of descriptors that are already open; `limit` is `None` if there is no
    /// limit.
    fn fits(&self, open: u64, limit: Option<u64>) -> Result<(), BackendError> {
        let need = open + self.count();
        match limit.filter(|limit| *limit < need) {
            None => Ok(()),
            Some(limit) => Err(BackendError::TooFewDescriptors {
                limit,
                need,
                workers: self.workers,
                nodes: self.nodes,
            }),
        }
    }
}

/// Raises the soft limit to the hard limit. Returns the new soft limit.
fn raise() -> Option<u64> {
    let before = *INHERITED.get_or_init(|| getrlimit(Resource::Nofile));
    let raised = Rlimit {
        current: before.maximum,
        maximum: before.maximum,
    };
    // If the system refuses, the old limit applies.
    let _ = setrlimit(Resource::Nofile, raised);
    getrlimit(Resource::Nofile).current
}

/// Returns the limit that a child should have: the limit of this process before it was raised, or `None` if it was not
/// raised. Some programs behave differently with a limit of a million descriptors, and locks should be tested with the
/// usual limit.
pub(super) fn inherited() -> Option<Rlimit> {
    INHERITED.get().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIVE_NODES: DescriptorNeed = DescriptorNeed {
        workers: 3,
        nodes: 5,
        servers: 5,
        links: 5,
    };

    #[test]
    fn error_contains_the_need_and_the_limit() {
        assert_eq!(FIVE_NODES.count(), 3 * (5 + 15) + 25 + 16);
        assert!(FIVE_NODES.fits(10, None).is_ok());
        assert!(FIVE_NODES.fits(10, Some(111)).is_ok());
        let error = FIVE_NODES.fits(10, Some(110)).unwrap_err().to_string();
        assert!(error.contains("at most 110"), "{error}");
        assert!(error.contains("at least 111"), "{error}");
    }

    #[test]
    fn eighty_workers_on_five_nodes_exceed_the_usual_soft_limit() {
        let many = DescriptorNeed {
            workers: 80,
            ..FIVE_NODES
        };
        assert!(many.count() > 1024);
    }
}
