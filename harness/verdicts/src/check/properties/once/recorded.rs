//! The recorded events of the ticks of a schedule, and the time for which the lock can keep other clients out.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::check::stalls::thresholds::NOTABLE_DELAY;
use crate::history::{Event, EventKind, Header, TickSchedule};
use crate::timeline::{
    AcquireFailure, Attempt, Hold, HoldEnd, Operation, OperationOutcome, Step, ns_from_ms,
};

/// A run of a job.
#[derive(Debug, Clone, Copy)]
pub(super) struct Job {
    pub(super) at_ns: u64,
    pub(super) worker: usize,
    pub(super) op: u64,
}

/// The recorded events of one tick of one lock.
#[derive(Debug, Default)]
pub(super) struct Tick {
    pub(super) jobs: Vec<Job>,
    /// The attempts that were made for this tick.
    pub(super) attempts: Vec<u64>,
}

/// The recorded events of all ticks.
#[derive(Debug, Default)]
pub(super) struct Recorded {
    pub(super) schedule: Option<TickSchedule>,
    pub(super) locks: u32,
    pub(super) workers: usize,
    pub(super) ttl_ns: u64,
    /// How long a value can exist after its last renewal, in nanoseconds.
    pub(super) lease_ns: u64,
    pub(super) min_hold_ns: u64,
    /// Number of nodes that may be unreachable while the lock still has its quorum.
    pub(super) spare_nodes: usize,
    /// The latest tick of each worker.
    pub(super) current: HashMap<usize, u64>,
    /// The records by lock and tick.
    pub(super) ticks: BTreeMap<(u32, u64), Tick>,
    /// The attempts that failed with a definite error, and so took nothing.
    pub(super) took_nothing: HashSet<u64>,
    /// The stalls of the harness, the nodes and the workers: the start and the end of each, in nanoseconds.
    pub(super) stalls: Vec<(u64, u64)>,
}

impl Recorded {
    pub(super) fn new(header: &Header) -> Self {
        let quorum = header.quorum.unwrap_or(header.nodes / 2 + 1);
        Recorded {
            schedule: header.schedule,
            locks: u32::try_from(header.keys.len()).unwrap_or(u32::MAX),
            workers: header.workers,
            ttl_ns: ns_from_ms(header.ttl_ms),
            lease_ns: ns_from_ms(
                header
                    .ttl_ms
                    .saturating_add(header.declares.lease_margin_ms),
            ),
            min_hold_ns: ns_from_ms(header.declares.min_hold_ms),
            spare_nodes: header.nodes.saturating_sub(quorum),
            ..Recorded::default()
        }
    }

    pub(super) fn step(&mut self, attempt: &Attempt, step: Step) {
        if self.schedule.is_none() {
            return;
        }
        if step == Step::Requested
            && let Some(tick) = self.current.get(&attempt.worker)
        {
            let tick = self.ticks.entry((attempt.lock, *tick)).or_default();
            tick.attempts.push(attempt.op);
        }
        if step == Step::Denied(AcquireFailure::Failed { definite: true }) {
            self.took_nothing.insert(attempt.op);
        }
    }

    pub(super) fn event(&mut self, event: &Event) {
        if self.schedule.is_none() {
            return;
        }
        let at_ns = event.at_ns;
        match event.what {
            EventKind::TickDue { worker, tick } => {
                self.current.insert(worker, tick);
            }
            EventKind::JobBegan {
                worker,
                op,
                key,
                tick,
            } => {
                let job = Job { at_ns, worker, op };
                self.ticks.entry((key, tick)).or_default().jobs.push(job);
            }
            EventKind::AcquireFailed {
                op, definite: true, ..
            } => {
                self.took_nothing.insert(op);
            }
            EventKind::HarnessStalled { late_ms } => {
                self.stalls
                    .push((at_ns.saturating_sub(ns_from_ms(late_ms)), at_ns));
            }
            EventKind::NodeStalled { since_ns, .. } | EventKind::WorkerStalled { since_ns, .. } => {
                self.stalls.push((since_ns, at_ns));
            }
            EventKind::WorkerDelayed {
                since_ns,
                waited_ms,
                ..
            } => {
                let until_ns = since_ns.saturating_add(ns_from_ms(waited_ms)).min(at_ns);
                self.stalls.push((since_ns, until_ns));
            }
            _ => {}
        }
    }

    /// Returns the total duration of the stalls in this span, or `None` if it is too short to have changed anything.
    pub(super) fn stalled_ns(&self, (from_ns, until_ns): (u64, u64)) -> Option<u64> {
        let within =
            |(from, until): &(u64, u64)| until_ns.min(*until).saturating_sub(from_ns.max(*from));
        let total_ns: u64 = self.stalls.iter().map(within).sum();
        (total_ns >= NOTABLE_DELAY.part_of(self.ttl_ns)).then_some(total_ns)
    }

    /// Returns `true` if an attempt ended without a definite answer, and so may have taken the lock.
    pub(super) fn is_in_doubt(&self, attempt: &Operation) -> bool {
        match attempt.outcome {
            OperationOutcome::Failed => !self.took_nothing.contains(&attempt.op),
            OperationOutcome::Unanswered => true,
            OperationOutcome::Done | OperationOutcome::Refused => false,
        }
    }

    /// Returns when a worker is due to start the job of a tick.
    pub(super) fn due_ns(&self, tick: u64, worker: usize) -> u64 {
        let due = |schedule: TickSchedule| schedule.due_ns(tick, worker, self.workers);
        self.schedule.map_or(0, due)
    }

    /// Returns the latest time until which a hold may keep other clients out. `release` is the operation that ended the
    /// hold, if there is one.
    pub(super) fn taken_until_ns(&self, hold: &Hold, release: Option<&Operation>) -> u64 {
        let is_answered = release.is_some_and(|release| {
            matches!(
                release.outcome,
                OperationOutcome::Done | OperationOutcome::Refused
            )
        });
        let answered_ns = release.map_or(hold.end_ns, |release| release.ended_at_ns);
        if hold.ended == HoldEnd::Released && is_answered {
            return answered_ns.saturating_add(self.min_hold_ns);
        }
        let lease_ns = self.lease_ns.max(self.min_hold_ns);
        // A key that never expires is no reason to keep the others out.
        let deadline_ns = Some(hold.deadline_ns).filter(|ns| *ns != u64::MAX);
        (answered_ns.saturating_add(lease_ns)).max(deadline_ns.unwrap_or(0))
    }
}
