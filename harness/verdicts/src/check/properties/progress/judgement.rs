//! The judgement of `progress` at the end, and the cycles of waits during the run.

use super::Progress;
use crate::check::finding::{Finding, Judgement, Observation};
use crate::check::inconclusive::{InconclusiveReason, StarvationReason};
use crate::check::progress::deadlocks::Deadlocks;
use crate::timeline::Timeline;

impl Progress {
    /// Calls `work` with the cycles of waits, and with a function that returns how long the machine stalled.
    pub(super) fn with_deadlocks(
        &mut self,
        work: impl FnOnce(&mut Deadlocks, &dyn Fn(u64, u64) -> u64),
    ) {
        // A client that never holds two locks cannot close a cycle.
        if self.locks.len() < 2 || self.admits_many_holders {
            return;
        }
        let mut deadlocks = std::mem::take(&mut self.deadlocks);
        work(&mut deadlocks, &|from_ns, until_ns| {
            self.excuses
                .waited_ns((from_ns, until_ns), self.ttl_ns, self.lease_ns)
        });
        self.deadlocks = deadlocks;
    }

    /// Returns the judgement of the waits.
    pub(super) fn judge_starvations(self, timeline: &Timeline<'_>) -> Judgement {
        let first = self.found.iter().min_by_key(|found| found.until_ns);
        let Some(mut first) = first.copied() else {
            if let Some(reason) = self.stall {
                return Judgement::Unknown(reason);
            }
            let (refused, failed) = self.denied;
            return match self.undecided {
                Some(by) => Judgement::Unknown(InconclusiveReason::Starved { by }),
                None if refused + failed == 0 => Judgement::Held,
                None => Judgement::HeldThough { refused, failed },
            };
        };
        if self.freeze_breached {
            let by = StarvationReason::FreezeBreach;
            return Judgement::Unknown(InconclusiveReason::Starved { by });
        }
        let state = &self.locks[first.lock as usize];
        first.has_unexpiring_key = state.unexpiring_ns.is_some();
        // If no key was left and the probe was not granted the lock, an attempt in doubt does not explain the wait.
        let is_key_explained = state.left || state.probe_granted == Some(true);
        first.doubt = first.doubt.filter(|_| is_key_explained);
        let operations = timeline.operations();
        let excuse = self.excuses.excuse_for(&first, self.bound_ns, operations);
        if !first.has_unexpiring_key
            && let Some(reason) = excuse
        {
            return Judgement::Unknown(reason);
        }
        Judgement::Violated {
            count: self.found.len() as u64,
            first: Finding {
                at_ns: first.until_ns,
                observation: Observation::Starvation(first),
            },
        }
    }
}
