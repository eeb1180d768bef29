//! Cycles of clients that each wait for a lock that the next one holds.
//!
//! A client that holds one lock while it waits for another can close a cycle. No client in the cycle can continue until
//! one of the leases expires or one of the clients gives up. A cycle that outlasts the progress bound is a deadlock.
//! Clients that all take their locks in the same order never close a cycle.

use crate::check::finding::{Deadlock, Observation, Wait};
use crate::history::Header;
use crate::timeline::{Attempt, Step};

/// A request without an answer.
#[derive(Debug, Clone, Copy)]
struct Want {
    op: u64,
    lock: u32,
    since_ns: u64,
}

/// The waits and the holders of all locks.
#[derive(Debug, Default)]
pub(in crate::check) struct Deadlocks {
    bound_ns: u64,
    /// The request that each worker is waiting for.
    wants: Vec<Option<Want>>,
    /// The attempt and the worker that holds each lock, by lock.
    holders: Vec<Option<(u64, usize)>>,
    /// Number of locks that each worker holds.
    held: Vec<u32>,
    /// Whether some worker has requested a lock while it held another one. Before that, no cycle can exist.
    has_nested: bool,
    /// Waiting until this time proves nothing, because of a fault or a stall.
    excused_until_ns: u64,
    found: Vec<(u64, Deadlock)>,
}

impl Deadlocks {
    pub(in crate::check) fn new(header: &Header, bound_ns: u64) -> Self {
        // A client that never holds two locks cannot close a cycle. Locks that admit several holders are not judged.
        let is_judged = header.keys.len() > 1 && header.capacity < 2;
        let locks = if is_judged { header.keys.len() } else { 0 };
        Deadlocks {
            bound_ns,
            wants: vec![None; header.workers],
            holders: vec![None; locks],
            held: vec![0; header.workers],
            ..Deadlocks::default()
        }
    }

    /// Returns `true` if a cycle may exist.
    pub(in crate::check) fn are_possible(&self) -> bool {
        self.has_nested
    }

    /// Judges the wait that ends with this step, if one ends. Must be called before [`Self::step`]. `stalled_ns`
    /// returns how long the machine kept clients waiting between two times.
    pub(in crate::check) fn judge_step(
        &mut self,
        at_ns: u64,
        attempt: &Attempt,
        step: Step,
        stalled_ns: impl Fn(u64, u64) -> u64,
    ) {
        let is_judged = match step {
            Step::Begun | Step::Denied(_) | Step::Gone => true,
            Step::Ended(_) => self.is_holder(attempt),
            Step::Requested | Step::Answered { .. } | Step::LeaseMoved | Step::Acted => false,
        };
        if is_judged {
            self.judge(at_ns, attempt.worker, stalled_ns);
        }
    }

    fn is_holder(&self, attempt: &Attempt) -> bool {
        let holder = self.holders.get(attempt.lock as usize).copied().flatten();
        holder == Some((attempt.op, attempt.worker))
    }

    /// Handles a step of an attempt.
    pub(in crate::check) fn step(&mut self, at_ns: u64, attempt: &Attempt, step: Step) {
        let (worker, lock) = (attempt.worker, attempt.lock as usize);
        if lock >= self.holders.len() {
            return;
        }
        match step {
            Step::Requested => {
                if let Some(want) = self.wants.get_mut(worker) {
                    *want = Some(Want {
                        op: attempt.op,
                        lock: attempt.lock,
                        since_ns: at_ns,
                    });
                    self.has_nested |= self.held[worker] > 0;
                }
            }
            Step::Begun => {
                self.ends(worker);
                self.holders[lock] = Some((attempt.op, worker));
                self.held
                    .get_mut(worker)
                    .into_iter()
                    .for_each(|held| *held += 1);
            }
            Step::Denied(_) | Step::Gone => self.ends(worker),
            Step::Ended(_) if self.is_holder(attempt) => {
                self.holders[lock] = None;
                self.held
                    .get_mut(worker)
                    .into_iter()
                    .for_each(|held| *held -= 1);
            }
            Step::Ended(_) | Step::Answered { .. } | Step::LeaseMoved | Step::Acted => {}
        }
    }

    /// Handles the end of a worker's wait.
    fn ends(&mut self, worker: usize) {
        if let Some(want) = self.wants.get_mut(worker) {
            *want = None;
        }
    }

    /// Excuses all waits up to now, because a fault or a long stall began or ended. `until_ns` is when its effects are
    /// over.
    pub(in crate::check) fn restart(&mut self, until_ns: u64) {
        self.excused_until_ns = self.excused_until_ns.max(until_ns);
    }

    /// Judges all waits at the end of the run.
    pub(in crate::check) fn run_over(&mut self, at_ns: u64, stalled_ns: impl Fn(u64, u64) -> u64) {
        for worker in 0..self.wants.len() {
            self.judge(at_ns, worker, &stalled_ns);
            self.ends(worker);
        }
    }

    /// Returns the deadlocks, each with the time at which it had lasted too long.
    pub(in crate::check) fn take_found(&mut self) -> Vec<(u64, Observation)> {
        let found = std::mem::take(&mut self.found).into_iter();
        found
            .map(|(at_ns, deadlock)| (at_ns, Observation::Deadlock(deadlock)))
            .collect()
    }

    /// Judges the cycle of this worker, if there is one that has lasted until now.
    fn judge(&mut self, at_ns: u64, worker: usize, stalled_ns: impl Fn(u64, u64) -> u64) {
        let Some(waits) = self.cycle_of(worker) else {
            return;
        };
        let closed_ns = waits
            .iter()
            .map(|wait| wait.since_ns)
            .max()
            .unwrap_or(at_ns);
        let from_ns = closed_ns.max(self.excused_until_ns);
        let limit_ns = from_ns
            .saturating_add(self.bound_ns)
            .saturating_add(stalled_ns(from_ns, at_ns));
        let is_known = |known: &Deadlock| known.waits.iter().any(|wait| wait.op == waits[0].op);
        if at_ns > limit_ns && !self.found.iter().any(|(_, known)| is_known(known)) {
            self.found.push((limit_ns, Deadlock { waits, closed_ns }));
        }
    }

    /// Returns the waits of a cycle, beginning with this worker, or `None` if it is in none.
    fn cycle_of(&self, worker: usize) -> Option<Vec<Wait>> {
        let mut waits: Vec<Wait> = Vec::new();
        let mut current = worker;
        loop {
            let want = (*self.wants.get(current)?)?;
            let (_, holder) = (*self.holders.get(want.lock as usize)?)?;
            waits.push(Wait {
                op: want.op,
                worker: current,
                wanted: want.lock,
                holder,
                since_ns: want.since_ns,
            });
            if holder == worker {
                return Some(waits);
            }
            // The worker is not part of the cycle, but waits for a client in it.
            if waits.len() > self.wants.len() {
                return None;
            }
            current = holder;
        }
    }
}
