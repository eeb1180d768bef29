//! Whether servers and workers live and move, although no fault has stopped them.

use std::time::Duration;

/// What was seen of a server or a worker. Times are in nanoseconds since the run began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LifeSign {
    /// A node's server stood still.
    NodeStoodStill {
        /// Which.
        node: usize,
        /// Since when.
        since_ns: u64,
        /// Until when.
        until_ns: u64,
    },
    /// A worker stood still.
    WorkerStoodStill {
        /// Which.
        worker: usize,
        /// Since when.
        since_ns: u64,
        /// Until when.
        until_ns: u64,
    },
    /// A worker waited for the processor although it could run.
    WorkerDelayed {
        /// Which.
        worker: usize,
        /// Since when.
        since_ns: u64,
        /// For how long of the time since then, in nanoseconds.
        waited_ns: u64,
    },
    /// A node's server has died.
    NodeDied {
        /// Which.
        node: usize,
    },
}

/// Watching servers and workers. A backend in which nobody dies or stands still by itself need not look.
pub trait Life {
    /// Watches them for as long as it is polled. What lasts shorter than this is not told.
    async fn watch_life(&self, _shortest: Duration) {
        std::future::pending().await
    }

    /// What was seen since this was last asked. `at_end`: what lasts counts until now.
    fn take_life_signs(&self, _at_end: bool) -> Vec<LifeSign> {
        Vec::new()
    }

    /// True if a signal has ended this worker, and no fault: somebody else did.
    fn was_killed(&self, _worker: usize) -> bool {
        false
    }

    /// True while this worker or a server stands still: then nobody can expect its answer.
    fn is_kept_from_answering(&self, _worker: usize) -> bool {
        false
    }
}
