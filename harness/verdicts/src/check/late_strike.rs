//! Faults of nodes that took long to strike, and holders that waited for them.
//!
//! A client that reaches a fault's moment goes on when the fault has struck. In the simulation that takes no
//! time. A server that is killed or replaced takes a while, and much longer on a busy machine. A holder that
//! was in time but for this wait has been made to outlive its lease by the harness, and nothing follows from
//! that for the lock or its client.

use std::collections::BTreeMap;

use crate::history::{Event, EventKind};
use crate::timeline::{Attempt, Step, ms};

/// How the reason begins.
pub(super) const STRUCK_LATE: &str = "a fault took too long to strike:";

/// So many faults are kept by their names: more than any scenario has, and few enough that a file that claims
/// more costs nothing.
const NAMED: usize = 64;

/// Watches which holders outlived their leases only because they waited for a fault.
#[derive(Debug, Default)]
pub(super) struct LateStrikes {
    faults: BTreeMap<u32, String>,
    /// The holds that are on, by worker and number of the attempt.
    holds: BTreeMap<(usize, u64), Hold>,
    reason: Option<String>,
}

#[derive(Debug)]
struct Hold {
    begun_ns: u64,
    waited_ns: u64,
    /// The fault that it waited for last.
    fault: Option<u32>,
}

impl LateStrikes {
    /// An attempt made a step.
    pub(super) fn step(&mut self, at_ns: u64, attempt: &Attempt, step: Step) {
        let name = (attempt.worker, attempt.op);
        match step {
            Step::Begun => {
                let hold = Hold {
                    begun_ns: at_ns,
                    waited_ns: 0,
                    fault: None,
                };
                self.holds.insert(name, hold);
            }
            Step::Ended(_) => {
                if let Some(hold) = self.holds.remove(&name) {
                    self.ended(at_ns, attempt, &hold);
                }
            }
            _ => {}
        }
    }

    /// Something else happened.
    pub(super) fn event(&mut self, event: &Event) {
        match &event.what {
            EventKind::FaultBegan { id, detail, .. } if self.faults.len() < NAMED => {
                self.faults.insert(*id, detail.clone());
            }
            EventKind::FaultStruck { id, took_ms } => {
                for hold in self.holds.values_mut() {
                    let held_ns = event.at_ns.saturating_sub(hold.begun_ns);
                    hold.waited_ns = hold.waited_ns.saturating_add(ms(*took_ms).min(held_ns));
                    hold.fault = Some(*id);
                }
            }
            _ => {}
        }
    }

    fn ended(&mut self, at_ns: u64, attempt: &Attempt, hold: &Hold) {
        let outlived = at_ns > attempt.deadline_ns;
        let in_time = at_ns.saturating_sub(hold.waited_ns) <= attempt.latest_deadline_ns;
        if let Some(fault) = hold.fault
            && outlived
            && in_time
            && self.reason.is_none()
        {
            let detail = self.faults.get(&fault).map_or("a fault", String::as_str);
            self.reason = Some(format!(
                "{STRUCK_LATE} worker {} held the lock and waited {:.3} s for {detail}, and so its lease ran \
                 out before its work was done: the lock was not put to the test that the scenario describes; \
                 run it again on a machine that is less busy, or with a longer lease (`--ttl`)",
                attempt.worker,
                hold.waited_ns as f64 / 1e9,
            ));
        }
    }

    /// Why the run cannot be judged; `None`: every holder would have outlived its lease, or been in time,
    /// without these waits too.
    pub(super) fn reason(&self) -> Option<String> {
        self.reason.clone()
    }
}
