//! The holds and faults that are in progress, and when the last of each ended.

use std::collections::BTreeMap;

use crate::history::{Event, EventKind};
use crate::timeline::{Attempt, Step, UnderWay, ns_from_ms};

use crate::check::inconclusive::{self, InconclusiveReason};

/// Maximum number of active faults whose holds are tracked. No scenario has that many; the limit keeps an untrusted
/// history from costing more.
const MAX_TRACKED_FAULTS: usize = 64;

/// The holds and faults in progress.
#[derive(Debug, Default)]
pub(in crate::check) struct ActiveSpans {
    /// Number of holds and faults so far. It numbers their beginnings.
    serial: u64,
    /// The worker and the serial number of each hold in progress.
    holds: UnderWay<(usize, u64)>,
    faults: BTreeMap<u32, Fault>,
    /// When the last completed hold ended.
    held_until_ns: Option<u64>,
    /// When the last completed fault ended.
    faulty_until_ns: Option<u64>,
}

#[derive(Debug)]
struct Fault {
    detail: String,
    target: Target,
    began_ns: u64,
    serial: u64,
    /// Latest end among the holds that the fault is meant to meet, or `None` if none of them has ended.
    left_ns: Option<u64>,
}

/// What a fault affects. It decides which holds the fault is meant to meet when it ends.
#[derive(Debug)]
enum Target {
    /// The fault is meant to end while a client that held the lock when it began still holds it.
    Nodes,
    /// The fault is meant to end while another client holds the lock.
    Workers(Vec<usize>),
}

impl Fault {
    /// Returns `true` if the fault is meant to end during the hold of `worker` that has this serial number.
    fn meets(&self, worker: usize, begun: u64) -> bool {
        match &self.target {
            Target::Nodes => begun < self.serial,
            Target::Workers(workers) => !workers.contains(&worker),
        }
    }
}

impl ActiveSpans {
    pub(in crate::check) fn step(&mut self, at_ns: u64, attempt: &Attempt, step: Step) {
        match step {
            Step::Begun => {
                self.serial += 1;
                self.holds.begin(attempt.op, (attempt.worker, self.serial));
            }
            Step::Ended(_) => {
                let Some((_, begun)) = self.holds.end(attempt.op) else {
                    return;
                };
                self.held_until_ns = Some(at_ns);
                if !self.faults.is_empty() {
                    self.left(at_ns, attempt.worker, begun);
                }
            }
            _ => {}
        }
    }

    /// Records the end of a hold with the faults that are meant to meet it.
    #[inline(never)]
    fn left(&mut self, at_ns: u64, worker: usize, begun: u64) {
        for fault in self.faults.values_mut().take(MAX_TRACKED_FAULTS) {
            if fault.meets(worker, begun) {
                fault.left_ns = Some(at_ns);
            }
        }
    }

    pub(in crate::check) fn event(&mut self, event: &Event) {
        match &event.what {
            EventKind::FaultBegan {
                id,
                detail,
                workers,
                nodes,
                ..
            } => {
                self.serial += 1;
                let target = if nodes.is_empty() {
                    Target::Workers(workers.clone())
                } else {
                    Target::Nodes
                };
                let fault = Fault {
                    detail: detail.clone(),
                    target,
                    began_ns: event.at_ns,
                    serial: self.serial,
                    left_ns: None,
                };
                self.faults.insert(*id, fault);
            }
            EventKind::FaultEnded { id } => {
                self.faults.remove(id);
                self.faulty_until_ns = Some(event.at_ns);
            }
            _ => {}
        }
    }

    /// Returns the kind of period, a fault or a hold, that was in progress at any time from `from_ns` until now, or
    /// `None`. If there were both, it returns the fault.
    pub(in crate::check) fn since(&self, from_ns: u64) -> Option<inconclusive::StallContext> {
        let reaches = |until_ns: Option<u64>| until_ns.is_some_and(|until_ns| until_ns >= from_ns);
        if !self.faults.is_empty() || reaches(self.faulty_until_ns) {
            Some(inconclusive::StallContext::Fault)
        } else if !self.holds.is_empty() || reaches(self.held_until_ns) {
            Some(inconclusive::StallContext::Hold)
        } else {
            None
        }
    }

    /// Returns the reason if a fault that ends `late_ms` milliseconds too late invalidates the run, or `None` if it
    /// does not.
    ///
    /// The run is invalid if the clients whose holds the fault is meant to meet left before the fault was over, but
    /// after it should have been over. For example, a scenario that restarts a server needs the server back while the
    /// client that held the lock before still holds it: only then does the run show whether the server lost the lock.
    /// A scenario that freezes a holder needs it back while its successor holds the lock: only then does the run show
    /// whether a late release removes a successor's lock.
    pub(in crate::check) fn overran(
        &self,
        id: u32,
        at_ns: u64,
        late_ms: u64,
    ) -> Option<InconclusiveReason> {
        let fault = self.faults.get(&id)?;
        let due_ns = at_ns.saturating_sub(ns_from_ms(late_ms));
        let left_too_early = fault.left_ns.is_some_and(|left_ns| left_ns >= due_ns);
        let mut holds = self.holds.values();
        let mut is_held = || holds.any(|(worker, begun)| fault.meets(*worker, *begun));
        (left_too_early && !is_held()).then(|| InconclusiveReason::FaultOverran {
            fault: fault.detail.clone(),
            lasted_ns: at_ns.saturating_sub(fault.began_ns),
            late_ms,
        })
    }
}
