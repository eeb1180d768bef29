//! The judgement of `progress` at the end, with the probe, and the cycles of waits during the run.

use super::Progress;
use crate::check::finding::{Finding, Judgement, Observation, Starvation};
use crate::check::inconclusive::{InconclusiveReason, StarvationReason};
use crate::check::progress::deadlocks::Deadlocks;
use crate::timeline::{Timeline, ns_from_ms};

impl Progress {
    /// Calls `work` with the cycles of waits, and with a function that returns how long the machine stalled.
    pub(super) fn with_deadlocks(
        &mut self,
        work: impl FnOnce(&mut Deadlocks, &dyn Fn(u64, u64) -> u64),
    ) {
        work(&mut self.deadlocks, &|from_ns, until_ns| {
            self.excuses
                .waited_ns((from_ns, until_ns), self.ttl_ns, self.lease_ns)
        });
    }

    /// Judges the wait of the probe.
    pub(super) fn probed(&mut self, at_ns: u64, lock: u32, granted: bool, waited_ms: u64) {
        let known = &mut self.locks[lock as usize].probe_granted;
        *known = Some(known.unwrap_or(false) || granted);
        if granted {
            return;
        }
        let before = self.found.len();
        let shows_the_lock = |found: &Starvation| {
            let is_late = |worker| self.excuses.is_late_timeout(worker, found);
            found.lock == lock && !found.worker.is_some_and(is_late)
        };
        let starved = self.locks[lock as usize].starved && self.found.iter().any(shows_the_lock);
        self.locks[lock as usize].starved = starved;
        if ns_from_ms(waited_ms) >= self.bound_ns {
            // For the probe, a wait exactly as long as the bound is too long, so one nanosecond is added.
            let since_ns = at_ns.saturating_sub(ns_from_ms(waited_ms));
            self.judge_wait(at_ns.saturating_add(1), lock, self.workers, since_ns);
        }
        if self.found.len() == before && !starved {
            self.undecided.get_or_insert(StarvationReason::ProbeBlocked);
        }
    }

    /// Returns the judgement of the waits.
    pub(super) fn judge_starvations(self, timeline: &Timeline<'_>) -> Judgement {
        // A late timeout says nothing about the lock, so another starvation is reported first.
        let first = self.found.iter().min_by_key(|found| {
            let worker = found.worker.unwrap_or(self.workers);
            let is_late = self.excuses.is_late_timeout(worker, found);
            (is_late, found.until_ns)
        });
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
        first.late_timeout = self.excuses.are_late_timeouts(&first, operations);
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
