//! Excuses for a starvation: events on the machine that may have kept all clients from a lock.

use std::collections::BTreeMap;

use crate::check::finding::Starvation;
use crate::check::incident::reason_for;
use crate::check::inconclusive::{InconclusiveReason, StarvationReason};
use crate::check::stalls::harness_stall::HarnessStall;
use crate::check::stalls::stall::Stall;
use crate::check::stalls::thresholds::{CPU_WAIT_DIVISOR, NOTABLE_DELAY};
use crate::history::{Event, EventKind};
use crate::timeline::{Operation, OperationKind, ms_from_ns, ns_from_ms};

/// The events of a run that can excuse a starvation.
#[derive(Debug, Default)]
pub(in crate::check) struct StarvationExcuses {
    workers: usize,
    /// The first node that failed on its own.
    lost_node: Option<InconclusiveReason>,
    /// The first resource that the harness ran out of.
    exhausted: Option<InconclusiveReason>,
    /// The workers whose clients the proxy refused, each with the first refusal.
    refused: BTreeMap<usize, InconclusiveReason>,
    /// Short stalls of servers and workers.
    stalls: Vec<Stall>,
    harness_stalls: Vec<HarnessStall>,
    /// The spans in which each worker waited for a CPU: start, end, and total wait within the span, in nanoseconds.
    cpu_waits: BTreeMap<usize, Vec<(u64, u64, u64)>>,
    /// When each worker that was slow to start got its first request, and when it sent its first command.
    slow_starts: BTreeMap<usize, (u64, u64)>,
    /// The spans in which a worker waited longer than its `timeout_ms` for a lost reply.
    late_timeouts: Vec<(usize, u64, u64)>,
}

impl StarvationExcuses {
    pub(in crate::check) fn new(workers: usize) -> Self {
        StarvationExcuses {
            workers,
            ..StarvationExcuses::default()
        }
    }

    pub(in crate::check) fn event(&mut self, event: &Event) {
        self.harness_stalls.extend(HarnessStall::from_event(event));
        match &event.what {
            EventKind::NodeLost { .. } if self.lost_node.is_none() => {
                self.lost_node = reason_for(&event.what);
            }
            EventKind::ResourceExhausted { .. } if self.exhausted.is_none() => {
                self.exhausted = reason_for(&event.what);
            }
            EventKind::ClientRefused { worker, .. } if *worker < self.workers => {
                if let Some(why) = reason_for(&event.what) {
                    self.refused.entry(*worker).or_insert(why);
                }
            }
            EventKind::WorkerDelayed {
                worker,
                since_ns,
                waited_ms,
            } => {
                let wait = (*since_ns, event.at_ns, ns_from_ms(*waited_ms));
                self.cpu_waits.entry(*worker).or_default().push(wait);
            }
            EventKind::SlowStart {
                worker,
                from_ns,
                until_ns,
            } => {
                self.slow_starts.insert(*worker, (*from_ns, *until_ns));
            }
            EventKind::IdleWhileWaiting {
                worker,
                from_ns,
                until_ns,
                late_timeout: true,
                ..
            } => self.late_timeouts.push((*worker, *from_ns, *until_ns)),
            _ => {}
        }
    }

    /// Returns `true` if this worker waited for a lost reply, for longer than its `timeout_ms`, during the whole
    /// starvation.
    pub(in crate::check) fn is_late_timeout(&self, worker: usize, starvation: &Starvation) -> bool {
        let mut late = self.late_timeouts.iter();
        late.any(|(late, from_ns, until_ns)| {
            *late == worker && *from_ns <= starvation.from_ns && *until_ns >= starvation.until_ns
        })
    }

    /// Returns `true` if the lock was wanted, and only by workers that waited for a lost reply.
    pub(in crate::check) fn are_late_timeouts(
        &self,
        starvation: &Starvation,
        operations: &[Operation],
    ) -> bool {
        let mut waiting = operations_during(starvation, operations).peekable();
        starvation.worker.is_some()
            && waiting.peek().is_some()
            && waiting.all(|waiting| self.is_late_timeout(waiting.worker, starvation))
    }

    /// Returns the longest time for which a worker waited for a CPU between two times. It is unknown which of the
    /// workers would have got the lock, so the worker that waited longest counts.
    pub(in crate::check) fn delayed_ns(&self, from_ns: u64, until_ns: u64) -> u64 {
        let workers = self.cpu_waits.keys();
        let each = workers.map(|worker| self.cpu_wait_ns(*worker, from_ns, until_ns));
        each.max().unwrap_or(0)
    }

    fn cpu_wait_ns(&self, worker: usize, from_ns: u64, until_ns: u64) -> u64 {
        let waits = self.cpu_waits.get(&worker).into_iter().flatten();
        let within = waits.map(|(began_ns, ended_ns, waited_ns)| {
            let (began_ns, ended_ns) = (*began_ns.max(&from_ns), *ended_ns.min(&until_ns));
            ended_ns.saturating_sub(began_ns).min(*waited_ns)
        });
        within.fold(0, u64::saturating_add)
    }

    /// Returns how long clients waited for a CPU, if no client that wanted the lock during the starvation was able to
    /// request it for as long as `bound_ns`: each was kept from sending its first command. Otherwise returns `None`.
    fn not_begun_ns(
        &self,
        first: &Starvation,
        bound_ns: u64,
        operations: &[Operation],
    ) -> Option<u64> {
        let mut longest_ns = None;
        for operation in operations_during(first, operations) {
            let (from_ns, first_command_at_ns) = *self.slow_starts.get(&operation.worker)?;
            let first_command_at_ns = first_command_at_ns.min(first.until_ns);
            let waited_ns = self.cpu_wait_ns(operation.worker, from_ns, first_command_at_ns);
            let requested_ns = first.until_ns - first_command_at_ns.max(first.from_ns);
            if requested_ns >= bound_ns || waited_ns < bound_ns / CPU_WAIT_DIVISOR {
                return None;
            }
            longest_ns = longest_ns.max(Some(waited_ns));
        }
        longest_ns
    }

    /// Records a stall that is too short to let all waiting times begin again.
    pub(in crate::check) fn record_short_stall(&mut self, stall: Stall) {
        self.stalls.push(stall);
    }

    /// Returns why the machine, and not the lock, may be responsible for a starvation, or `None` if nothing excuses it.
    /// `bound_ns` is the time within which a client must get the lock.
    pub(in crate::check) fn excuse_for(
        &self,
        first: &Starvation,
        bound_ns: u64,
        operations: &[Operation],
    ) -> Option<InconclusiveReason> {
        // It is unknown when the node failed, so the lock cannot be blamed for any wait.
        if self.lost_node.is_some() {
            return self.lost_node.clone();
        }
        // The proxy may have left a connection of any client without an answer, and for an unknown time.
        if self.exhausted.is_some() {
            return self.exhausted.clone();
        }
        // If even one worker had been served, it would show whether a client can get the lock.
        if self.refused.len() >= self.workers {
            return self.refused.values().next().cloned();
        }
        let span = (first.from_ns, first.until_ns);
        let mut stalls = self.stalls.iter();
        let stall = stalls.find(|stall| stall.meets(span));
        let not_begun = || {
            let waited_ns = self.not_begun_ns(first, bound_ns, operations)?;
            let by = StarvationReason::MachineTooSlow(ms_from_ns(waited_ns));
            Some(InconclusiveReason::Starved { by })
        };
        stall.map(Stall::reason).or_else(not_begun)
    }

    /// Returns how long the machine kept clients waiting between two times. After a long harness stall it counts
    /// `after_ns` more.
    pub(in crate::check) fn waited_ns(
        &self,
        (from_ns, until_ns): (u64, u64),
        ttl_ns: u64,
        after_ns: u64,
    ) -> u64 {
        let long_ns = NOTABLE_DELAY.part_of(ttl_ns);
        let stalled_ns = self.harness_stalled_ns(from_ns, until_ns, long_ns, after_ns);
        stalled_ns.saturating_add(self.delayed_ns(from_ns, until_ns))
    }

    /// Returns how long the harness was stalled between two times, and so may have kept clients waiting. A stall of at
    /// least `long_ns` may have let leases expire, so it counts for `after_ns` longer.
    fn harness_stalled_ns(&self, from_ns: u64, until_ns: u64, long_ns: u64, after_ns: u64) -> u64 {
        let counted = self.harness_stalls.iter().map(|stall| {
            let is_long = stall.until_ns - stall.from_ns >= long_ns;
            let after_ns = if is_long { after_ns } else { 0 };
            let ended_at_ns = stall.until_ns.saturating_add(after_ns).min(until_ns);
            ended_at_ns.saturating_sub(stall.from_ns.max(from_ns))
        });
        counted.fold(0, u64::saturating_add)
    }
}

/// Returns the attempts that wanted the lock during a starvation.
fn operations_during<'a>(
    starvation: &Starvation,
    operations: &'a [Operation],
) -> impl Iterator<Item = &'a Operation> {
    let &Starvation {
        lock,
        from_ns,
        until_ns,
        ..
    } = starvation;
    operations.iter().filter(move |operation| {
        operation.kind == OperationKind::Acquire
            && operation.lock == lock
            && operation.requested_at_ns < until_ns
            && operation.ended_at_ns > from_ns
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::OperationOutcome;

    /// Returns how long clients waited for a CPU, in milliseconds. The clients wanted the lock from 1 to 5 s, and had
    /// to get it within 3 s. `clients` contains the time of each client's first command and its CPU wait in the first
    /// second, both in milliseconds.
    fn not_begun_ms(clients: &[(u64, u64)]) -> Option<u64> {
        let mut excuses = StarvationExcuses::new(clients.len());
        let mut operations = Vec::new();
        let mut record = |at_ns, what| excuses.event(&Event { at_ns, what });
        for (worker, (first_command_ms, waited_ms)) in clients.iter().copied().enumerate() {
            let delayed = EventKind::WorkerDelayed {
                worker,
                since_ns: 0,
                waited_ms,
            };
            record(ns_from_ms(1000), delayed);
            let slow = EventKind::SlowStart {
                worker,
                from_ns: 0,
                until_ns: ns_from_ms(first_command_ms),
            };
            record(ns_from_ms(5000), slow);
            operations.push(Operation {
                worker,
                op: worker as u64,
                lock: 0,
                kind: OperationKind::Acquire,
                intended_ns: None,
                requested_at_ns: 0,
                ended_at_ns: ns_from_ms(5000),
                outcome: OperationOutcome::Unanswered,
            });
        }
        let first = Starvation {
            lock: 0,
            from_ns: ns_from_ms(1000),
            until_ns: ns_from_ms(5000),
            worker: Some(0),
            late_timeout: false,
            in_turn: false,
            doubt: None,
            has_unexpiring_key: false,
        };
        let waited_ns = excuses.not_begun_ns(&first, ns_from_ms(3000), &operations)?;
        Some(waited_ns / ns_from_ms(1))
    }

    #[test]
    fn cpu_wait_before_the_first_commands_excuses_the_lock() {
        assert_eq!(not_begun_ms(&[(4000, 700), (9000, 900)]), Some(900));
        assert_eq!(not_begun_ms(&[(2500, 700)]), Some(700));
    }

    #[test]
    fn one_client_that_requested_for_long_enough_is_not_excused() {
        assert_eq!(not_begun_ms(&[(4000, 700), (1900, 900)]), None);
        assert_eq!(not_begun_ms(&[(4000, 700), (4000, 200)]), None);
        assert_eq!(not_begun_ms(&[]), None);
    }

    #[test]
    fn stall_counts_within_the_wait_and_a_long_one_for_longer() {
        let mut excuses = StarvationExcuses::new(2);
        for (at_ns, late_ms) in [(ns_from_ms(100), 10), (ns_from_ms(500), 100)] {
            let what = EventKind::HarnessStalled { late_ms };
            excuses.event(&Event { at_ns, what });
        }
        let stalled = |from, until, after| {
            excuses.harness_stalled_ns(
                ns_from_ms(from),
                ns_from_ms(until),
                ns_from_ms(50),
                ns_from_ms(after),
            )
        };
        assert_eq!(stalled(0, 1000, 0), ns_from_ms(110));
        assert_eq!(stalled(95, 1000, 0), ns_from_ms(105));
        assert_eq!(stalled(0, 1000, 200), ns_from_ms(310));
        assert_eq!(stalled(0, 600, 200), ns_from_ms(210));
        assert_eq!(stalled(600, 1000, 200), ns_from_ms(100));
        assert_eq!(stalled(800, 1000, 200), 0);
    }
}
