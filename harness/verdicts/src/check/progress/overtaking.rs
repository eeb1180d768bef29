//! Overtaking: a writer of a read/write lock waits while readers that requested the lock later are let in.
//!
//! A client waits from its first request until it is let in, however many requests that takes. A reader overtakes a
//! writer if it began to wait later and was let in earlier. More overtakes than the scenario allows are a violation.
//!
//! A fault, or a stall of any component, restarts the count, because a writer that was kept away sent no request. While
//! a fault on the nodes or on the writer lasts, nothing is counted.

use std::collections::{BTreeMap, HashMap};

use picklock_scenarios::LockKind;

use crate::check::finding::{Claim, FalseClaim, Judgement, Observation};
use crate::history::{Event, EventKind, Header};
use crate::timeline::{Attempt, Step};

/// A client that waits.
#[derive(Debug, Clone, Copy)]
struct Wait {
    since_ns: u64,
    /// The client's latest attempt.
    op: u64,
    is_writer: bool,
    overtakes: u32,
}

/// The targets of an active fault.
#[derive(Debug, Clone)]
struct Targets {
    workers: Vec<usize>,
    has_nodes: bool,
}

/// Counts the overtakes.
#[derive(Debug, Default)]
pub(in crate::check) struct Overtaking {
    /// Maximum number of overtakes, or `None` if nothing is counted.
    max: Option<u32>,
    /// The weight of a writer.
    capacity: u32,
    /// The waits by lock and worker.
    waits: BTreeMap<(u32, usize), Wait>,
    faults: HashMap<u32, Targets>,
    found: Vec<(u64, Observation)>,
}

impl Overtaking {
    pub(in crate::check) fn new(header: &Header) -> Self {
        Overtaking {
            max: header
                .max_overtakes
                .filter(|_| header.kind == LockKind::Rwlock),
            capacity: header.capacity,
            ..Overtaking::default()
        }
    }

    /// Handles a step of an attempt.
    pub(in crate::check) fn step(&mut self, at_ns: u64, attempt: &Attempt, step: Step) {
        let Some(max) = self.max else { return };
        let waiter = (attempt.lock, attempt.worker);
        match step {
            Step::Requested => {
                let wait = self.waits.entry(waiter).or_insert(Wait {
                    since_ns: at_ns,
                    op: attempt.op,
                    is_writer: attempt.weight >= self.capacity,
                    overtakes: 0,
                });
                wait.op = attempt.op;
            }
            Step::Begun => match self.waits.remove(&waiter) {
                Some(wait) if wait.is_writer => self.withdraw(at_ns, attempt.op),
                Some(wait) => self.let_in(at_ns, attempt.lock, wait.since_ns, max),
                None => {}
            },
            Step::Gone => {
                self.waits.remove(&waiter);
            }
            _ => {}
        }
    }

    /// Counts a reader that has waited since `since_ns` and has now been let in.
    fn let_in(&mut self, at_ns: u64, lock: u32, since_ns: u64, max: u32) {
        let keeps_away = |targets: &Targets, worker: &usize| {
            targets.has_nodes || targets.workers.contains(worker)
        };
        for ((_, worker), wait) in self.waits.iter_mut().filter(|((of, _), _)| *of == lock) {
            let mut faults = self.faults.values();
            if !wait.is_writer
                || since_ns <= wait.since_ns
                || faults.any(|targets| keeps_away(targets, worker))
            {
                continue;
            }
            wait.overtakes += 1;
            if wait.overtakes == max.saturating_add(1) {
                let statement = format!(
                    "client {worker} waited to write for {:.1} s, and {} readers that requested the lock later were let in",
                    at_ns.saturating_sub(wait.since_ns) as f64 / 1e9,
                    wait.overtakes
                );
                let claim = FalseClaim {
                    about: Claim::Turn,
                    ops: vec![wait.op],
                    statement,
                };
                self.found.push((at_ns, Observation::FalseClaim(claim)));
            }
        }
    }

    /// Withdraws what was found at the time at which the writer itself was let in. Equal times prove no order.
    fn withdraw(&mut self, at_ns: u64, writer: u64) {
        self.found.retain(|(found_ns, observation)| {
            let is_about = |claim: &FalseClaim| claim.ops == [writer];
            let is_its_own =
                matches!(observation, Observation::FalseClaim(claim) if is_about(claim));
            *found_ns != at_ns || !is_its_own
        });
    }

    /// Handles an event that may restart the count.
    pub(in crate::check) fn event(&mut self, event: &Event) {
        if self.max.is_none() {
            return;
        }
        match &event.what {
            EventKind::FaultBegan {
                id, workers, nodes, ..
            } => {
                let targets = Targets {
                    workers: workers.clone(),
                    has_nodes: !nodes.is_empty(),
                };
                self.faults.insert(*id, targets);
            }
            EventKind::FaultEnded { id } => drop(self.faults.remove(id)),
            EventKind::WorkerDown { worker, .. } => {
                self.waits.retain(|(_, waiting), _| waiting != worker);
                return;
            }
            EventKind::HarnessStalled { .. }
            | EventKind::NodeStalled { .. }
            | EventKind::WorkerStalled { .. }
            | EventKind::WorkerDelayed { .. } => {}
            _ => return,
        }
        self.waits.values_mut().for_each(|wait| wait.overtakes = 0);
    }

    /// Returns the judgement of the overtakes if there were too many of them and `of_waits` shows no violation.
    /// Otherwise returns `of_waits`.
    pub(in crate::check) fn judge(self, of_waits: Judgement) -> Judgement {
        if matches!(of_waits, Judgement::Violated { .. }) || self.found.is_empty() {
            return of_waits;
        }
        Judgement::from_observations(self.found)
    }
}
