//! Why it is the machine's doing, and not the lock's, that nobody got it for a time.

use std::collections::BTreeMap;

use crate::check::finding::Starvation;
use crate::check::inconclusive::{InconclusiveReason, StarvationReason};
use crate::check::run_validity::reason_for;
use crate::check::stalls::stall::Stall;
use crate::history::{Event, EventKind};
use crate::timeline::{Operation, OperationKind, ms};

/// A client that waited for a processor for this part of the time within which somebody must get the lock has been kept
/// from its first command.
const DELAYED_PART: u64 = 10;

/// What the machine did in a run that can keep everybody from a lock.
#[derive(Debug, Default)]
pub(in crate::check) struct StarvationExcuses {
    workers: usize,
    /// A node that failed by itself, and how.
    lost_node: Option<InconclusiveReason>,
    /// The workers whose clients the proxy refused, and the first time that it did.
    refused: BTreeMap<usize, InconclusiveReason>,
    /// Servers and workers that stood still for a short time.
    stalls: Vec<Stall>,
    /// When the harness stood still: from, until.
    harness_stalls: Vec<(u64, u64)>,
    /// How long each worker waited for a processor: from, until, for how long of that.
    delays: BTreeMap<usize, Vec<(u64, u64, u64)>>,
    /// When a worker was asked for a lock for the first time, and when it sent its first command, if that was late.
    slow_starts: BTreeMap<usize, (u64, u64)>,
}

impl StarvationExcuses {
    pub(in crate::check) fn new(workers: usize) -> Self {
        StarvationExcuses {
            workers,
            ..StarvationExcuses::default()
        }
    }

    pub(in crate::check) fn event(&mut self, event: &Event) {
        match &event.what {
            EventKind::NodeLost { .. } if self.lost_node.is_none() => {
                self.lost_node = reason_for(&event.what);
            }
            EventKind::ClientRefused { worker, .. } if *worker < self.workers => {
                if let Some(why) = reason_for(&event.what) {
                    self.refused.entry(*worker).or_insert(why);
                }
            }
            EventKind::HarnessStalled { late_ms } => {
                let from_ns = event.at_ns.saturating_sub(ms(*late_ms));
                self.harness_stalls.push((from_ns, event.at_ns));
            }
            EventKind::WorkerDelayed {
                worker,
                since_ns,
                waited_ms,
            } => {
                let delay = (*since_ns, event.at_ns, ms(*waited_ms));
                self.delays.entry(*worker).or_default().push(delay);
            }
            EventKind::SlowStart {
                worker,
                from_ns,
                until_ns,
            } => {
                self.slow_starts.insert(*worker, (*from_ns, *until_ns));
            }
            _ => {}
        }
    }

    /// For how long, at most, a worker waited for a processor between two times. Nobody knows who of them would have
    /// got the lock, so it is the one that waited longest.
    pub(in crate::check) fn delayed_ns(&self, from_ns: u64, until_ns: u64) -> u64 {
        let workers = self.delays.keys();
        let each = workers.map(|worker| self.delayed_of_ns(*worker, from_ns, until_ns));
        each.max().unwrap_or(0)
    }

    fn delayed_of_ns(&self, worker: usize, from_ns: u64, until_ns: u64) -> u64 {
        let delays = self.delays.get(&worker).into_iter().flatten();
        let within = delays.map(|(began_ns, ended_ns, waited_ns)| {
            let (began_ns, ended_ns) = (*began_ns.max(&from_ns), *ended_ns.min(&until_ns));
            ended_ns.saturating_sub(began_ns).min(*waited_ns)
        });
        within.fold(0, u64::saturating_add)
    }

    /// For how long clients waited for a processor, if none of those that wanted the lock for `bound_ns` without success
    /// has asked for it that long: each had sent no command yet, and was kept from it.
    fn not_begun_ns(
        &self,
        first: &Starvation,
        bound_ns: u64,
        operations: &[Operation],
    ) -> Option<u64> {
        let wanting = operations.iter().filter(|asked| {
            asked.kind == OperationKind::Acquire
                && asked.key == first.key
                && asked.requested_at_ns < first.until_ns
                && asked.ended_at_ns > first.from_ns
        });
        let waited = wanting.map(|asked| {
            let (from_ns, first_command_at_ns) = *self.slow_starts.get(&asked.worker)?;
            let first_command_at_ns = first_command_at_ns.min(first.until_ns);
            let delayed_ns = self.delayed_of_ns(asked.worker, from_ns, first_command_at_ns);
            let asked_long = first.until_ns - first_command_at_ns.max(first.from_ns) >= bound_ns;
            (!asked_long && delayed_ns >= bound_ns / DELAYED_PART).then_some(delayed_ns)
        });
        waited.reduce(|one, other| Some(one?.max(other?))).flatten()
    }

    /// Somebody stood still for so short a time that the lock is not judged anew after it.
    pub(in crate::check) fn stood_still(&mut self, stall: Stall) {
        self.stalls.push(stall);
    }

    /// Why this may be due to the machine and not to the lock. `bound_ns`: within which time somebody must get it.
    pub(in crate::check) fn excuse_for(
        &self,
        first: &Starvation,
        bound_ns: u64,
        operations: &[Operation],
    ) -> Option<InconclusiveReason> {
        // It is not known since when the node was gone, so no waiting can be held against the lock.
        if self.lost_node.is_some() {
            return self.lost_node.clone();
        }
        // One that was served shows by itself whether it gets the lock.
        if self.refused.len() >= self.workers {
            return self.refused.values().next().cloned();
        }
        let span = (first.from_ns, first.until_ns);
        let mut stalls = self.stalls.iter();
        let stall = stalls.find(|it| it.meets(span));
        let not_begun = || {
            let waited_ns = self.not_begun_ns(first, bound_ns, operations)?;
            let by = StarvationReason::HarnessStall(waited_ns / 1_000_000);
            Some(InconclusiveReason::Starved { by })
        };
        stall.map(Stall::reason).or_else(not_begun)
    }

    /// For how long the harness stood still between two times, and so may have kept clients waiting. After a
    /// pause of `long_ns` and more, leases may have gone wrong: it counts for `after_ns` longer.
    pub(in crate::check) fn paused_ns(
        &self,
        from_ns: u64,
        until_ns: u64,
        long_ns: u64,
        after_ns: u64,
    ) -> u64 {
        let pauses = self.harness_stalls.iter();
        let counted = pauses.map(|(paused_ns, ended_at_ns)| {
            let is_long = ended_at_ns - paused_ns >= long_ns;
            let after_ns = if is_long { after_ns } else { 0 };
            let ended_at_ns = ended_at_ns.saturating_add(after_ns).min(until_ns);
            ended_at_ns.saturating_sub(*paused_ns.max(&from_ns))
        });
        counted.fold(0, u64::saturating_add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::OperationOutcome;

    fn told(excuses: &mut StarvationExcuses, at_ns: u64, what: EventKind) {
        excuses.event(&Event { at_ns, what });
    }

    /// For how long clients waited that wanted the lock from 1 to 5 s, and had to get it within 3 s: when each sent its
    /// first command, and for how much of the first second it waited for a processor, milliseconds.
    fn not_begun(clients: &[(u64, u64)]) -> Option<u64> {
        let mut excuses = StarvationExcuses::new(clients.len());
        let mut operations = Vec::new();
        for (worker, (spoke_ms, waited_ms)) in clients.iter().copied().enumerate() {
            let (from_ns, until_ns) = (0, ms(spoke_ms));
            let delayed = EventKind::WorkerDelayed {
                worker,
                since_ns: 0,
                waited_ms,
            };
            told(&mut excuses, ms(1000), delayed);
            let slow = EventKind::SlowStart {
                worker,
                from_ns,
                until_ns,
            };
            told(&mut excuses, ms(5000), slow);
            operations.push(Operation {
                worker,
                op: worker as u64,
                key: 0,
                kind: OperationKind::Acquire,
                intended_ns: None,
                requested_at_ns: 0,
                ended_at_ns: ms(5000),
                outcome: OperationOutcome::Unanswered,
            });
        }
        let first = Starvation {
            key: 0,
            from_ns: ms(1000),
            until_ns: ms(5000),
            worker: Some(0),
            in_turn: false,
            doubt: None,
            has_unexpiring_key: false,
        };
        let waited_ns = excuses.not_begun_ns(&first, ms(3000), &operations)?;
        Some(waited_ns / ms(1))
    }

    #[test]
    fn clients_that_the_machine_kept_from_their_first_command_starve_for_no_fault_of_the_lock() {
        assert_eq!(not_begun(&[(4000, 700), (9000, 900)]), Some(900));
        assert_eq!(not_begun(&[(2500, 700)]), Some(700));
    }

    #[test]
    fn one_client_that_asked_for_long_enough_shows_that_nobody_gets_the_lock() {
        assert_eq!(not_begun(&[(4000, 700), (1900, 900)]), None);
        assert_eq!(not_begun(&[(4000, 700), (4000, 200)]), None);
        assert_eq!(not_begun(&[]), None);
    }

    #[test]
    fn pause_counts_as_far_as_it_lies_in_the_wait_and_a_long_one_for_longer() {
        let mut excuses = StarvationExcuses::new(2);
        for (at_ns, late_ms) in [(ms(100), 10), (ms(500), 100)] {
            let what = EventKind::HarnessStalled { late_ms };
            excuses.event(&Event { at_ns, what });
        }
        let paused = |from, until, after| excuses.paused_ns(ms(from), ms(until), ms(50), ms(after));
        assert_eq!(paused(0, 1000, 0), ms(110));
        assert_eq!(paused(95, 1000, 0), ms(105));
        assert_eq!(paused(0, 1000, 200), ms(310));
        assert_eq!(paused(0, 600, 200), ms(210));
        assert_eq!(paused(600, 1000, 200), ms(100));
        assert_eq!(paused(800, 1000, 200), 0);
    }
}
