//! File descriptors: how many a run needs, and how many this process may have.
//!
//! A process that has run out of them cannot accept connections, and to a client that looks like a
//! server that does not answer. So the need is estimated before anything is started.

use std::sync::OnceLock;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::BackendError;

/// Descriptors that are open for a moment: while a process is started, a server is asked, or `/proc`
/// is read.
const FOR_A_MOMENT: u64 = 16;

/// Of one server: its process, its reserved port, and the two connections on which it tells what
/// happens to its keys.
const EACH_SERVER: u64 = 4;

/// Of one worker: its process, its standard input and its standard output.
const EACH_WORKER: u64 = 3;

/// Of one link: its listener, and both sides of one connection. A lock may open more connections.
const EACH_LINK: u64 = 3;

/// The limit of this process before it was raised.
static INHERITED: OnceLock<Rlimit> = OnceLock::new();

/// What a run opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DescriptorNeed {
    /// Workers.
    pub workers: usize,
    /// Independent nodes.
    pub nodes: usize,
    /// Servers and Sentinels, replicas included.
    pub servers: usize,
    /// Links of one worker, those to Sentinels included.
    pub links: usize,
}

impl DescriptorNeed {
    /// How many descriptors the run opens at least, if each worker has one connection on each link.
    fn count(&self) -> u64 {
        let links = self.links as u64 * EACH_LINK;
        let workers = self.workers as u64 * (EACH_WORKER + links);
        workers + self.servers as u64 * EACH_SERVER + FOR_A_MOMENT
    }

    /// Raises the soft limit of this process to its hard one, and checks that the run fits in.
    ///
    /// # Errors
    /// [`BackendError::TooFewDescriptors`] if it does not.
    pub fn ensure(&self) -> Result<(), BackendError> {
        let limit = raise();
        let open = std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count) as u64;
        self.fits(open, limit)
    }

    /// `open`: how many are open already. `limit`: `None` where there is none.
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

/// Raises the soft limit to the hard one, and returns the soft limit.
fn raise() -> Option<u64> {
    let before = *INHERITED.get_or_init(|| getrlimit(Resource::Nofile));
    let raised = Rlimit {
        current: before.maximum,
        maximum: before.maximum,
    };
    // If the system refuses, the old limit counts.
    let _ = setrlimit(Resource::Nofile, raised);
    getrlimit(Resource::Nofile).current
}

/// The limit that a child should have: the one of this process before it was raised. `None`: it was
/// not raised. Programs behave differently with a limit of a million descriptors, and what is tested
/// should be what people run.
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
    fn the_need_is_compared_with_the_limit_and_both_are_named() {
        assert_eq!(FIVE_NODES.count(), 3 * (3 + 15) + 20 + 16);
        assert!(FIVE_NODES.fits(10, None).is_ok());
        assert!(FIVE_NODES.fits(10, Some(100)).is_ok());
        let error = FIVE_NODES.fits(10, Some(99)).unwrap_err().to_string();
        assert!(error.contains("at most 99"), "{error}");
        assert!(error.contains("at least 100"), "{error}");
    }

    #[test]
    fn eighty_workers_on_five_nodes_need_more_than_the_usual_soft_limit() {
        let many = DescriptorNeed {
            workers: 80,
            ..FIVE_NODES
        };
        assert!(many.count() > 1024);
    }
}
