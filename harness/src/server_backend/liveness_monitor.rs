//! Collects stalls and deaths of servers and workers until the driver records them. A stall that a fault caused is not
//! one of them, so the backend reports here what it has stopped itself.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::history::EventKind;

/// A server or a worker that is watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Watched {
    /// The server of this node.
    Node(usize),
    /// This worker.
    Worker(usize),
}

/// An ongoing stall.
#[derive(Debug, Clone, Copy)]
struct StallObservation {
    since_ns: u64,
    until_ns: u64,
    /// Part of the stall that was observed with certainty, in nanoseconds.
    certain_ns: u64,
}

/// Ongoing and past stalls, delays and deaths of servers and workers that no fault caused.
#[derive(Debug, Default)]
pub(super) struct LivenessMonitor {
    /// Servers and workers that a fault has stopped or killed.
    stopped: RefCell<BTreeSet<Watched>>,
    stalls: RefCell<BTreeMap<Watched, StallObservation>>,
    events: RefCell<Vec<EventKind>>,
    /// Minimum duration of stalls and delays to report.
    shortest: Cell<Duration>,
}

impl LivenessMonitor {
    /// Sets the minimum duration of stalls and delays to report.
    pub(super) fn set_shortest(&self, shortest: Duration) {
        self.shortest.set(shortest);
    }

    /// Records that a fault is about to stop or kill the target. Returns `false` if another fault has already stopped
    /// it.
    pub(super) fn stop(&self, target: Watched) -> bool {
        self.end_stall(target);
        self.stopped.borrow_mut().insert(target)
    }

    /// Records that no fault stops the target any more.
    pub(super) fn resume(&self, target: Watched) {
        self.stopped.borrow_mut().remove(&target);
    }

    /// Returns `true` while a fault stops the target.
    pub(super) fn is_stopped(&self, target: Watched) -> bool {
        self.stopped.borrow().contains(&target)
    }

    /// Records that the target has been stalled from `since_ns` to `now_ns`. `certain_ns` is the part since the last
    /// observation in which the stall is certain.
    pub(super) fn record_stall(
        &self,
        target: Watched,
        since_ns: u64,
        now_ns: u64,
        certain_ns: u64,
    ) {
        let mut stalls = self.stalls.borrow_mut();
        let stall = stalls.entry(target).or_insert(StallObservation {
            since_ns,
            until_ns: now_ns,
            certain_ns: 0,
        });
        stall.until_ns = now_ns;
        stall.certain_ns += certain_ns;
    }

    /// Ends the target's stall because it runs again or its state is unknown. The stall is reported unless it was too
    /// short.
    pub(super) fn end_stall(&self, target: Watched) {
        let Some(stall) = self.stalls.borrow_mut().remove(&target) else {
            return;
        };
        if Duration::from_nanos(stall.certain_ns) < self.shortest.get() {
            return;
        }
        let since_ns = stall.since_ns;
        let stalled_ms = stall.until_ns.saturating_sub(since_ns) / 1_000_000;
        self.events.borrow_mut().push(match target {
            Watched::Node(node) => EventKind::NodeStalled {
                node,
                since_ns,
                stalled_ms,
            },
            Watched::Worker(worker) => EventKind::WorkerStalled {
                worker,
                since_ns,
                stalled_ms,
            },
        });
    }

    /// Records that a thread of a worker has waited for a CPU for `waited_ns` nanoseconds since `since_ns`.
    pub(super) fn record_delay(&self, worker: usize, since_ns: u64, waited_ns: u64) {
        if Duration::from_nanos(waited_ns) < self.shortest.get() {
            return;
        }
        self.events.borrow_mut().push(EventKind::WorkerDelayed {
            worker,
            since_ns,
            waited_ms: waited_ns / 1_000_000,
        });
    }

    /// Records that the server of this node has died.
    pub(super) fn record_death(&self, node: usize) {
        let reason = "its connections broke".into();
        self.events
            .borrow_mut()
            .push(EventKind::NodeLost { node, reason });
    }

    /// Takes the events since the last call. With `at_end`, also ends and reports ongoing stalls.
    pub(super) fn take(&self, at_end: bool) -> Vec<EventKind> {
        if at_end {
            let stalled: Vec<Watched> = self.stalls.borrow().keys().copied().collect();
            stalled
                .into_iter()
                .for_each(|target| self.end_stall(target));
        }
        self.events.take()
    }

    /// Returns `true` if this worker or any server is stalled.
    pub(super) fn may_block_answer(&self, worker: usize) -> bool {
        let stalls = self.stalls.borrow();
        stalls.keys().any(|target| match target {
            Watched::Node(_) => true,
            Watched::Worker(stalled) => *stalled == worker,
        })
    }
}
