//! Who wants which lock, and since when.
//!
//! A worker wants the lock while it is asking. Refused or failed, it still wants it if it asks
//! for the same one again soon: within a quarter of the bound on progress, so that every stretch
//! of that length saw it ask several times. A buyer that thinks for long between two attempts
//! gave the lock no chance in between, and its want begins anew.
//!
//! In an open loop the worker asks for one buyer after the other, and each of them is a want of its
//! own: it begins when the worker first asks for that buyer, and ends when the worker asks for
//! another one. A buyer who still stands in the line has asked for nothing (it is the workers that
//! he waits for), and a worker that waits for a buyer wants nothing. So a run of many short refusals
//! is no starvation here; whether the lock could be had at all, the probe after the run finds out.

use crate::timeline::Attempt;

/// So many attempts, at the least, make one continuous want of the bound's length.
const ATTEMPTS_WITHIN_BOUND: u64 = 4;

#[derive(Debug, Clone, Copy)]
struct Want {
    key: u32,
    op: u64,
    since_ns: u64,
    /// In an open loop: for whom, by the time of his coming.
    intended_ns: Option<u64>,
    /// When it was last denied; `None`: it is asking.
    denied_ns: Option<u64>,
}

/// The wants of all workers.
#[derive(Debug)]
pub(super) struct Wants {
    workers: Vec<Option<Want>>,
    /// How many are asking, for each key.
    asking: Vec<u32>,
    patience_ns: u64,
}

impl Wants {
    pub(super) fn new(workers: usize, keys: usize, bound_ns: u64) -> Self {
        Wants {
            workers: vec![None; workers],
            asking: vec![0; keys],
            patience_ns: bound_ns / ATTEMPTS_WITHIN_BOUND,
        }
    }

    pub(super) fn asked(&mut self, at_ns: u64, attempt: &Attempt) {
        let before = self.workers.get(attempt.worker).copied().flatten();
        self.forget(attempt.worker);
        let since_ns = match before {
            Some(Want {
                key,
                since_ns,
                intended_ns,
                denied_ns: Some(denied_ns),
                ..
            }) if (key, intended_ns) == (attempt.key, attempt.intended_ns)
                && at_ns.saturating_sub(denied_ns) <= self.patience_ns =>
            {
                since_ns
            }
            _ => at_ns,
        };
        if let Some(want) = self.workers.get_mut(attempt.worker) {
            *want = Some(Want {
                key: attempt.key,
                op: attempt.op,
                since_ns,
                intended_ns: attempt.intended_ns,
                denied_ns: None,
            });
            self.asking[attempt.key as usize] += 1;
        }
    }

    /// The attempt was denied: since when does its worker want it?
    pub(super) fn denied(&mut self, at_ns: u64, attempt: &Attempt) -> Option<u64> {
        let want = self.workers.get_mut(attempt.worker)?.as_mut()?;
        if want.op != attempt.op || want.denied_ns.is_some() {
            return None;
        }
        want.denied_ns = Some(at_ns);
        self.asking[want.key as usize] -= 1;
        Some(want.since_ns)
    }

    /// The attempt is over, with the lock or with its worker's end.
    pub(super) fn satisfied(&mut self, attempt: &Attempt) {
        let want = self.workers.get(attempt.worker).copied().flatten();
        if want.is_some_and(|want| want.op == attempt.op) {
            self.forget(attempt.worker);
        }
    }

    pub(super) fn forget(&mut self, worker: usize) {
        if let Some(want) = self.workers.get_mut(worker).and_then(Option::take)
            && want.denied_ns.is_none()
        {
            self.asking[want.key as usize] -= 1;
        }
    }

    pub(super) fn forget_all(&mut self) {
        for worker in 0..self.workers.len() {
            self.forget(worker);
        }
    }

    /// Of those who are asking for this key, the one who has wanted it longest, and since when.
    pub(super) fn longest(&self, key: u32) -> Option<(usize, u64)> {
        if self.asking[key as usize] == 0 {
            return None;
        }
        let workers = self.workers.iter().enumerate();
        workers
            .filter_map(|(worker, want)| Some((worker, (*want)?)))
            .filter(|(_, want)| want.key == key && want.denied_ns.is_none())
            .map(|(worker, want)| (worker, want.since_ns))
            .min_by_key(|(_, since_ns)| *since_ns)
    }
}
