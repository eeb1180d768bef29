//! Detection of servers and workers that stall or die although no fault affects them.

use std::time::Duration;

use crate::history::EventKind;

/// Watches servers and workers. The defaults are for backends in which nothing dies or stalls without a fault.
pub trait Liveness {
    /// Watches servers and workers while the future is polled. Stalls shorter than `shortest` are not reported.
    async fn monitor_liveness(&self, _shortest: Duration) {
        std::future::pending().await
    }

    /// Returns the stalls, delays and losses since the last call. With `at_end`, an ongoing stall is reported up to
    /// now.
    fn take_liveness_events(&self, _at_end: bool) -> Vec<EventKind> {
        Vec::new()
    }

    /// Returns `true` if a signal that no fault sent has ended this worker.
    fn was_killed(&self, _worker: usize) -> bool {
        false
    }

    /// Returns the last line of the worker's log that names an error or, if no line does, the last line. Returns `None`
    /// if the worker printed nothing.
    fn last_log_line(&self, _worker: usize) -> Option<String> {
        None
    }

    /// Returns `true` while this worker or any server is stalled, so that the worker may be unable to answer.
    fn may_be_unable_to_answer(&self, _worker: usize) -> bool {
        false
    }

    /// Returns `true` if a signal that no fault sent has stopped a process of this worker.
    fn is_stopped(&self, _worker: usize) -> bool {
        false
    }
}
