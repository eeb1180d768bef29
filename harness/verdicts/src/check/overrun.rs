//! Faults of nodes that lasted longer than their scenario says.
//!
//! A scenario that restarts a server wants it back while a client still holds the lock: whether the lock
//! was forgotten shows only then. Where the server took so long that the holder had left, nothing was put to
//! the test, and a lock that would have failed looks safe. Such a run is not judged as held.

use std::collections::BTreeMap;

use crate::history::{Event, EventKind};
use crate::timeline::{Attempt, Step, ms};

/// How the reason begins.
pub(super) const TOO_LONG: &str = "a fault lasted too long:";

/// So many faults of nodes are watched at a time: more than any scenario has, and few enough that a file that
/// claims more costs nothing.
const WATCHED: usize = 64;

/// Watches which holds a fault found and outlasted.
#[derive(Debug, Default)]
pub(super) struct Overruns {
    /// Counts holds and faults: which of two began first.
    serial: u64,
    /// The holds that are on, by worker and number of the attempt: when each began.
    held: BTreeMap<(usize, u64), u64>,
    /// The faults of nodes that are on.
    faults: BTreeMap<u32, Fault>,
    reason: Option<String>,
}

#[derive(Debug)]
struct Fault {
    detail: String,
    began_ns: u64,
    serial: u64,
    /// When the last hold that it found ended, if one has.
    left_ns: Option<u64>,
}

impl Overruns {
    /// An attempt made a step.
    pub(super) fn step(&mut self, at_ns: u64, attempt: &Attempt, step: Step) {
        let name = (attempt.worker, attempt.op);
        match step {
            Step::Begun => {
                self.serial += 1;
                self.held.insert(name, self.serial);
            }
            Step::Ended(_) => {
                let Some(begun) = self.held.remove(&name) else {
                    return;
                };
                for fault in self.faults.values_mut() {
                    if begun < fault.serial {
                        fault.left_ns = Some(at_ns);
                    }
                }
            }
            _ => {}
        }
    }

    /// Something else happened.
    pub(super) fn event(&mut self, event: &Event) {
        match &event.what {
            EventKind::FaultBegan {
                id, detail, nodes, ..
            } if !nodes.is_empty() && self.faults.len() < WATCHED => {
                self.serial += 1;
                let fault = Fault {
                    detail: detail.clone(),
                    began_ns: event.at_ns,
                    serial: self.serial,
                    left_ns: None,
                };
                self.faults.insert(*id, fault);
            }
            EventKind::FaultOverran { id, late_ms } => {
                if let Some(fault) = self.faults.remove(id) {
                    self.overran(&fault, event.at_ns, *late_ms);
                }
            }
            EventKind::FaultEnded { id } => {
                self.faults.remove(id);
            }
            _ => {}
        }
    }

    fn overran(&mut self, fault: &Fault, at_ns: u64, late_ms: u64) {
        let due_ns = at_ns.saturating_sub(ms(late_ms));
        let left_too_early = fault.left_ns.is_some_and(|left_ns| left_ns >= due_ns);
        let is_held = || self.held.values().any(|begun| *begun < fault.serial);
        if left_too_early && self.reason.is_none() && !is_held() {
            self.reason = Some(too_long(fault, at_ns, late_ms));
        }
    }

    /// Why the run cannot be judged; `None`: no fault outlasted the hold that it found.
    pub(super) fn reason(&self) -> Option<String> {
        self.reason.clone()
    }
}

fn too_long(fault: &Fault, at_ns: u64, late_ms: u64) -> String {
    let lasted = at_ns.saturating_sub(fault.began_ns) as f64 / 1e9;
    let late = late_ms as f64 / 1e3;
    format!(
        "{TOO_LONG} {} lasted {lasted:.3} s in all, {late:.3} s more than its scenario says, and the client \
         that held the lock when it began had left before it was over: the lock was not put to the test \
         that the scenario describes; run it again on a machine that is less busy, or with a longer lease \
         (`--ttl`)",
        fault.detail
    )
}
