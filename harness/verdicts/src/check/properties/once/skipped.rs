//! Ticks whose job did not run.
//!
//! An attempt for such a tick is excused if another client held the lock or could still hold it. Reasons are a job that
//! is still running at the tick, the lease of a client that died or whose release failed, an attempt without a definite
//! answer, and the time for which the lock declares that it keeps its key. It is also excused if a fault kept its
//! client from Redis, or the client of another refused attempt at the same time: that attempt may have taken the lock
//! unknowingly, and given it back before its client was refused.
//!
//! If any attempt has no excuse, the tick was skipped. The property is `unknown` if faults alone excuse every attempt,
//! or if the machine stalled. It is also `unknown` if no client made an attempt, and a fault kept a client from making
//! one at a time at which no client held the lock or could still hold it.

use std::collections::HashMap;

use super::recorded::Recorded;
use crate::check::finding::{Claim, FalseClaim, Observation};
use crate::check::inconclusive::{InconclusiveReason, TickExcuse};
use crate::timeline::{
    FaultSpan, Hold, Operation, OperationKind, OperationOutcome, Timeline, affects_only_replicas,
    includes, is_instantaneous, ms_from_ns,
};

/// A span in which a client held the lock, or could still hold it.
#[derive(Debug, Clone, Copy)]
struct Taken {
    op: u64,
    lock: u32,
    from_ns: u64,
    until_ns: u64,
}

impl Taken {
    /// Returns `true` if this client held the lock, or could still hold it, in a part of a span.
    fn meets(&self, lock: u32, (from_ns, until_ns): (u64, u64)) -> bool {
        self.lock == lock && self.from_ns <= until_ns && from_ns <= self.until_ns
    }
}

/// Why an attempt did not get the lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Excuse {
    /// Another client held the lock, or could still hold it.
    Taken,
    /// A fault kept the client from Redis.
    Fault,
}

/// Returns the time from an attempt's request to its answer as a span in which its client could hold the lock.
fn taken_during(attempt: &Operation) -> Taken {
    Taken {
        op: attempt.op,
        lock: attempt.lock,
        from_ns: attempt.requested_at_ns,
        until_ns: attempt.ended_at_ns,
    }
}

/// Returns `true` if a fault affects only replicas, and the lock needs none: a request that was sent in the meantime
/// was granted.
fn is_harmless(fault: &FaultSpan<'_>, holds: &[Hold]) -> bool {
    affects_only_replicas(fault.fault)
        && (holds.iter()).any(|hold| fault.touches(hold.acquire_ns, hold.acquire_ns))
}

/// Judges ticks whose job did not run.
pub(super) struct Skips<'a, 'h> {
    recorded: &'a Recorded,
    attempts: HashMap<u64, &'a Operation>,
    taken: Vec<Taken>,
    /// The refused attempts whose clients a fault kept from Redis.
    refused_by_fault: Vec<Taken>,
    /// The faults that may keep a client from Redis.
    faults: Vec<&'a FaultSpan<'h>>,
    end_ns: u64,
}

impl<'a, 'h> Skips<'a, 'h> {
    pub(super) fn new(recorded: &'a Recorded, timeline: &'a Timeline<'h>) -> Self {
        let of_kind = |kind| {
            let operations = timeline.operations().iter();
            operations.filter(move |operation| operation.kind == kind)
        };
        let releases: HashMap<u64, &Operation> = of_kind(OperationKind::Release)
            .map(|operation| (operation.op, operation))
            .collect();
        let holds = timeline.holds().iter().map(|hold| {
            let until_ns = recorded.taken_until_ns(hold, releases.get(&hold.op).copied());
            Taken {
                op: hold.op,
                lock: hold.lock,
                from_ns: hold.acquire_ns,
                until_ns,
            }
        });
        let in_doubt =
            of_kind(OperationKind::Acquire).filter(|operation| recorded.is_in_doubt(operation));
        let in_doubt = in_doubt.map(|operation| Taken {
            op: operation.op,
            lock: operation.lock,
            from_ns: operation.requested_at_ns,
            until_ns: operation.ended_at_ns.saturating_add(recorded.lease_ns),
        });
        let mut skips = Skips {
            recorded,
            attempts: of_kind(OperationKind::Acquire)
                .map(|operation| (operation.op, operation))
                .collect(),
            taken: holds.chain(in_doubt).collect(),
            refused_by_fault: Vec::new(),
            faults: (timeline.faults().iter())
                .filter(|fault| !is_harmless(fault, timeline.holds()))
                .collect(),
            end_ns: timeline.end_ns(),
        };
        let is_refused = |it: &&Operation| it.outcome == OperationOutcome::Refused;
        let refused = of_kind(OperationKind::Acquire).filter(is_refused);
        let refused = refused.map(|operation| (operation.worker, taken_during(operation)));
        let by_fault = refused.filter(|(worker, taken)| {
            let span = (taken.from_ns, taken.until_ns);
            skips.is_kept_away(*worker, span)
        });
        skips.refused_by_fault = by_fault.map(|(_, taken)| taken).collect();
        skips
    }

    /// Returns the finding that a tick without a job was skipped, or the reason if that is unknown. Returns `None` if
    /// the lock was taken at the tick, or the run ended before it.
    pub(super) fn skipped(
        &self,
        lock: u32,
        tick: u64,
    ) -> Option<Result<(u64, Observation), InconclusiveReason>> {
        let attempts = self.attempts_for(lock, tick);
        if attempts.is_empty() {
            return self.unattended_tick(lock, tick).map(Err);
        }
        let excuses: Vec<Option<Excuse>> = attempts
            .iter()
            .map(|attempt| self.excuse(attempt))
            .collect();
        let is_unexcused = |(_, excuse): &(&&Operation, &Option<Excuse>)| excuse.is_none();
        let Some((missed, _)) = attempts.iter().zip(&excuses).find(is_unexcused) else {
            let only_faults = excuses.iter().all(|excuse| *excuse == Some(Excuse::Fault))
                || attempts.iter().all(|attempt| self.is_cut_off(attempt));
            let by = TickExcuse::Fault;
            return only_faults.then_some(Err(InconclusiveReason::TickMissed { tick, by }));
        };
        let due_ns = self
            .recorded
            .due_ns(tick, missed.worker)
            .min(missed.requested_at_ns);
        let span = (due_ns, missed.ended_at_ns);
        if let Some(stalled_ns) = self.recorded.stalled_ns(span) {
            let by = TickExcuse::Stall(ms_from_ns(stalled_ns));
            return Some(Err(InconclusiveReason::TickMissed { tick, by }));
        }
        let statement = format!(
            "tick {tick} did not run: no client held the lock when client {} requested it, and it was {}",
            missed.worker,
            match missed.outcome {
                OperationOutcome::Failed => "not granted because of an error",
                _ => "refused",
            }
        );
        let before = self.taken.iter().filter(|taken| {
            taken.lock == lock && taken.from_ns < missed.requested_at_ns && taken.op != missed.op
        });
        let before = before
            .max_by_key(|taken| taken.from_ns)
            .map(|taken| taken.op);
        let claim = FalseClaim {
            about: Claim::Tick,
            ops: before.into_iter().chain([missed.op]).collect(),
            statement,
        };
        Some(Ok((missed.ended_at_ns, Observation::FalseClaim(claim))))
    }

    /// Returns the attempts that could have run the job of a tick: the attempts that were made for it and, if the
    /// schedule catches up on missed ticks, for any later tick.
    fn attempts_for(&self, lock: u32, tick: u64) -> Vec<&'a Operation> {
        let catches_up = self
            .recorded
            .schedule
            .is_some_and(|schedule| schedule.catches_up);
        let last = if catches_up { u64::MAX } else { tick };
        let ticks = self.recorded.ticks.range((lock, tick)..=(lock, last));
        let ops = ticks.flat_map(|(_, tick)| &tick.attempts);
        ops.filter_map(|op| self.attempts.get(op).copied())
            .collect()
    }

    /// Returns the reason if a fault kept a client from requesting the lock for a tick when the lock was free. Returns
    /// `None` if every client was busy or would have found the lock taken, or if the run had ended.
    fn unattended_tick(&self, lock: u32, tick: u64) -> Option<InconclusiveReason> {
        let is_away = (0..self.recorded.workers).any(|worker| {
            let due_ns = self.recorded.due_ns(tick, worker);
            let span = (due_ns, due_ns);
            let is_taken = self.taken.iter().any(|taken| taken.meets(lock, span));
            due_ns < self.end_ns && !is_taken && self.is_kept_away(worker, span)
        });
        let by = TickExcuse::Fault;
        is_away.then_some(InconclusiveReason::TickMissed { tick, by })
    }

    fn excuse(&self, attempt: &Operation) -> Option<Excuse> {
        match attempt.outcome {
            // The client of this attempt had the lock, or the attempt may have taken it without an answer. Either way,
            // the job could not begin in another attempt.
            OperationOutcome::Done | OperationOutcome::Unanswered => return Some(Excuse::Taken),
            OperationOutcome::Refused | OperationOutcome::Failed => {}
        }
        let span = (attempt.requested_at_ns, attempt.ended_at_ns);
        let meets_other = |all: &[Taken]| {
            let mut others = all.iter().filter(|taken| taken.op != attempt.op);
            others.any(|taken| taken.meets(attempt.lock, span))
        };
        if meets_other(&self.taken) {
            Some(Excuse::Taken)
        } else if self.is_kept_away(attempt.worker, span) {
            Some(Excuse::Fault)
        } else {
            meets_other(&self.refused_by_fault).then_some(Excuse::Taken)
        }
    }

    /// Returns `true` if a fault kept the client of this attempt from Redis, and Redis did not answer it. Each of
    /// several such attempts may have taken the lock, but that does not excuse the others.
    fn is_cut_off(&self, attempt: &Operation) -> bool {
        let span = (attempt.requested_at_ns, attempt.ended_at_ns);
        self.recorded.is_in_doubt(attempt) && self.is_kept_away(attempt.worker, span)
    }

    /// Returns `true` if faults kept a worker from a quorum of the nodes, or from running, in this span. A fault counts
    /// until one lease after its end, because it can still have an effect until then.
    fn is_kept_away(&self, worker: usize, (from_ns, until_ns): (u64, u64)) -> bool {
        let is_active = |fault: &&FaultSpan<'_>| {
            let ended_ns = if is_instantaneous(fault.fault) {
                fault.ended_ns.unwrap_or(fault.began_ns)
            } else {
                fault.ended_ns.unwrap_or(u64::MAX)
            };
            let concerns = includes(fault.workers, worker);
            concerns
                && !fault.missed
                && fault.began_ns <= until_ns
                && from_ns <= ended_ns.saturating_add(self.recorded.lease_ns)
        };
        let mut nodes: Vec<usize> = Vec::new();
        for fault in self.faults.iter().copied().filter(is_active) {
            if fault.nodes.is_empty() && fault.workers.contains(&worker) {
                return true;
            }
            nodes.extend(fault.nodes);
        }
        nodes.sort_unstable();
        nodes.dedup();
        nodes.len() > self.recorded.spare_nodes
    }
}
