//! What is going on: the holds and the faults that are on, and when the last of each ended.

use std::collections::BTreeMap;

use crate::history::{Event, EventKind};
use crate::timeline::{Attempt, Step, ms};

use crate::check::inconclusive::{self, InconclusiveReason};

/// So many faults are watched for the holds that they find: more than any scenario has, and few enough that a file
/// that claims more costs nothing.
const WATCHED: usize = 64;

/// The holds and the faults that are on.
#[derive(Debug, Default)]
pub(in crate::check) struct ActiveSpans {
    /// Counts holds and faults: which of two began first.
    serial: u64,
    /// The holds that are on, by worker and number of the attempt.
    holds: BTreeMap<(usize, u64), u64>,
    faults: BTreeMap<u32, Fault>,
    /// When the last hold ended that has ended.
    held_until_ns: Option<u64>,
    /// When the last fault ended that has ended.
    faulty_until_ns: Option<u64>,
}

#[derive(Debug)]
struct Fault {
    detail: String,
    /// It struck nodes.
    of_nodes: bool,
    began_ns: u64,
    serial: u64,
    /// When the last hold that it found ended, if one has.
    left_ns: Option<u64>,
}

impl ActiveSpans {
    pub(in crate::check) fn step(&mut self, at_ns: u64, attempt: &Attempt, step: Step) {
        let name = (attempt.worker, attempt.op);
        match step {
            Step::Begun => {
                self.serial += 1;
                self.holds.insert(name, self.serial);
            }
            Step::Ended(_) => {
                let Some(begun) = self.holds.remove(&name) else {
                    return;
                };
                self.held_until_ns = Some(at_ns);
                for fault in self.faults.values_mut().take(WATCHED) {
                    if begun < fault.serial {
                        fault.left_ns = Some(at_ns);
                    }
                }
            }
            _ => {}
        }
    }

    pub(in crate::check) fn event(&mut self, event: &Event) {
        match &event.what {
            EventKind::FaultBegan {
                id, detail, nodes, ..
            } => {
                self.serial += 1;
                let fault = Fault {
                    detail: detail.clone(),
                    of_nodes: !nodes.is_empty(),
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

    /// What was going on at some time since then, until now.
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

    /// A fault is about to end so much later than its scenario says. That spoils the run if the last client that
    /// held the lock when it began left while the fault should have been over already: a scenario that restarts a
    /// server wants it back while the client still holds the lock, because whether the lock was forgotten shows
    /// only then.
    pub(in crate::check) fn overran(
        &self,
        id: u32,
        at_ns: u64,
        late_ms: u64,
    ) -> Option<InconclusiveReason> {
        let fault = self.faults.get(&id).filter(|fault| fault.of_nodes)?;
        let due_ns = at_ns.saturating_sub(ms(late_ms));
        let left_too_early = fault.left_ns.is_some_and(|left_ns| left_ns >= due_ns);
        let is_held = || self.holds.values().any(|begun| *begun < fault.serial);
        (left_too_early && !is_held()).then(|| InconclusiveReason::FaultOverran {
            fault: fault.detail.clone(),
            lasted_ns: at_ns.saturating_sub(fault.began_ns),
            late_ms,
        })
    }
}
