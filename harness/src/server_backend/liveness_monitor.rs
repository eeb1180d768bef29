use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::history::EventKind;

/// Who is watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Watched {
    /// The server of this node.
    Node(usize),
    /// This worker.
    Worker(usize),
}

/// What was seen of somebody who stands still.
#[derive(Debug, Clone, Copy)]
struct StallObservation {
    since_ns: u64,
    until_ns: u64,
    /// For how long that was certain.
    certain_ns: u64,
}

/// What is known of servers and workers that stand still or die although no fault asked for it.
#[derive(Debug, Default)]
pub(super) struct LivenessMonitor {
    /// Whom a fault has stopped or killed.
    stopped: RefCell<BTreeSet<Watched>>,
    still: RefCell<BTreeMap<Watched, StallObservation>>,
    signs: RefCell<Vec<EventKind>>,
    /// What lasts shorter is not told.
    shortest: Cell<Duration>,
}

impl LivenessMonitor {
    /// From now on shorter stalls than this are not told.
    pub(super) fn describe_from(&self, shortest: Duration) {
        self.shortest.set(shortest);
    }

    /// A fault is about to stop or to kill it. False if one has done so before.
    pub(super) fn stop(&self, who: Watched) -> bool {
        self.moves(who);
        self.stopped.borrow_mut().insert(who)
    }

    /// It goes on as far as faults are concerned.
    pub(super) fn go_on(&self, who: Watched) {
        self.stopped.borrow_mut().remove(&who);
    }

    /// True while a fault keeps it.
    pub(super) fn is_stopped(&self, who: Watched) -> bool {
        self.stopped.borrow().contains(&who)
    }

    /// It stands still now, and has since then. So much more of that is certain than at the last look.
    pub(super) fn stands_still(&self, who: Watched, since_ns: u64, now_ns: u64, certain_ns: u64) {
        let mut still = self.still.borrow_mut();
        let still = still.entry(who).or_insert(StallObservation {
            since_ns,
            until_ns: now_ns,
            certain_ns: 0,
        });
        still.until_ns = now_ns;
        still.certain_ns += certain_ns;
    }

    /// It moves, or nobody knows. What was seen before counts, unless it was too short.
    pub(super) fn moves(&self, who: Watched) {
        let Some(still) = self.still.borrow_mut().remove(&who) else {
            return;
        };
        if Duration::from_nanos(still.certain_ns) < self.shortest.get() {
            return;
        }
        let since_ns = still.since_ns;
        let stalled_ms = still.until_ns.saturating_sub(since_ns) / 1_000_000;
        self.signs.borrow_mut().push(match who {
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

    /// This worker waited for a processor for so long of the time since then.
    pub(super) fn waited(&self, worker: usize, since_ns: u64, waited_ns: u64) {
        if Duration::from_nanos(waited_ns) < self.shortest.get() {
            return;
        }
        self.signs.borrow_mut().push(EventKind::WorkerDelayed {
            worker,
            since_ns,
            waited_ms: waited_ns / 1_000_000,
        });
    }

    /// The server of this node has died.
    pub(super) fn died(&self, node: usize) {
        let reason = "its connections broke".into();
        let lost = EventKind::NodeLost { node, reason };
        self.signs.borrow_mut().push(lost);
    }

    /// What was seen since the last call. `at_end`: what lasts counts, too.
    pub(super) fn take(&self, at_end: bool) -> Vec<EventKind> {
        if at_end {
            let still: Vec<Watched> = self.still.borrow().keys().copied().collect();
            still.into_iter().for_each(|who| self.moves(who));
        }
        self.signs.take()
    }

    /// True if this worker or a server stands still.
    pub(super) fn keeps_from_answering(&self, worker: usize) -> bool {
        let still = self.still.borrow();
        still.keys().any(|who| match who {
            Watched::Node(_) => true,
            Watched::Worker(one) => *one == worker,
        })
    }
}
