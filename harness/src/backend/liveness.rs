//! Whether servers and workers live and move, although no fault has stopped them.

use std::time::Duration;

use crate::history::EventKind;

/// Watching servers and workers. A backend in which nobody dies or stands still by itself need not look.
pub trait Liveness {
    /// Watches them for as long as it is polled. What lasts shorter than this is not told.
    async fn monitor_liveness(&self, _shortest: Duration) {
        std::future::pending().await
    }

    /// What was seen since this was last asked: who stood still, was delayed or is lost. `at_end`: what lasts counts
    /// until now.
    fn take_liveness_events(&self, _at_end: bool) -> Vec<EventKind> {
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
