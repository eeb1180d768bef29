//! Which workers wait for which lock, and since when.
//!
//! A worker wants the lock while it is asking. Refused or failed, it still wants it if it asks for
//! the same one again soon: within a quarter of the bound on progress, so that it asks several
//! times in any period of that length. If a buyer pauses for longer between two attempts, the lock
//! had no chance in between, and a new want begins.
//!
//! In an open loop the worker asks for one buyer after the other. That the first one gave up does not
//! give the lock to the second: as long as the worker asks for some buyer, the lock is wanted. A buyer
//! in the queue waits for a worker, not for the lock, and a worker that waits for a buyer wants nothing.
//!
//! Where a fault keeps a worker from what the lock needs, pauses between its attempts are no chances
//! for the lock. All its requests that follow each other are then one want.

use crate::timeline::Attempt;

/// A continuous want as long as the bound contains at least this many attempts.
const ATTEMPTS_WITHIN_BOUND: u64 = 4;

#[derive(Debug, Clone, Copy)]
struct Want {
    key: u32,
    op: u64,
    since_ns: u64,
    /// When it first asked for this lock, since it last had one or asked for another.
    first_ns: u64,
    /// When it was last denied; `None`: it is asking.
    denied_ns: Option<u64>,
}

/// The workers that wait.
#[derive(Debug)]
pub(super) struct Waiters {
    workers: Vec<Option<Want>>,
    /// How many are asking, for each key.
    asking: Vec<u32>,
    patience_ns: u64,
}

impl Waiters {
    pub(super) fn new(workers: usize, keys: usize, bound_ns: u64) -> Self {
        Waiters {
            workers: vec![None; workers],
            asking: vec![0; keys],
            patience_ns: bound_ns / ATTEMPTS_WITHIN_BOUND,
        }
    }

    pub(super) fn asked(&mut self, at_ns: u64, attempt: &Attempt) {
        let before = self.workers.get(attempt.worker).copied().flatten();
        self.forget(attempt.worker);
        let before = before.filter(|before| before.key == attempt.key);
        let soon = |before: &Want| {
            let denied_ns = before.denied_ns;
            denied_ns.is_some_and(|denied| at_ns.saturating_sub(denied) <= self.patience_ns)
        };
        let since_ns = before.filter(soon).map_or(at_ns, |before| before.since_ns);
        let first_ns = before.map_or(at_ns, |before| before.first_ns);
        if let Some(want) = self.workers.get_mut(attempt.worker) {
            *want = Some(Want {
                key: attempt.key,
                op: attempt.op,
                since_ns,
                first_ns,
                denied_ns: None,
            });
            self.asking[attempt.key as usize] += 1;
        }
    }

    /// The attempt was denied. Returns since when its worker wants the lock, and when it first asked.
    pub(super) fn denied(&mut self, at_ns: u64, attempt: &Attempt) -> Option<(u64, u64)> {
        let want = self.workers.get_mut(attempt.worker)?.as_mut()?;
        if want.op != attempt.op || want.denied_ns.is_some() {
            return None;
        }
        want.denied_ns = Some(at_ns);
        self.asking[want.key as usize] -= 1;
        Some((want.since_ns, want.first_ns))
    }

    /// The attempt ended with the lock, or because its worker died.
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

    /// Of the workers that are asking for this key, and reach what it needs, the one that has wanted it
    /// longest, and since when.
    pub(super) fn longest(
        &self,
        key: u32,
        reaches: impl Fn(usize) -> bool,
    ) -> Option<(usize, u64)> {
        let asking = self.asking(key).filter(|(worker, _)| reaches(*worker));
        let since = asking.map(|(worker, want)| (worker, want.since_ns));
        since.min_by_key(|(_, since_ns)| *since_ns)
    }

    /// The same of those that do not reach it, with all requests of each that follow each other.
    pub(super) fn longest_kept_away(
        &self,
        key: u32,
        reaches: impl Fn(usize) -> bool,
    ) -> Option<(usize, u64)> {
        let asking = self.asking(key).filter(|(worker, _)| !reaches(*worker));
        let since = asking.map(|(worker, want)| (worker, want.first_ns));
        since.min_by_key(|(_, since_ns)| *since_ns)
    }

    fn asking(&self, key: u32) -> impl Iterator<Item = (usize, &Want)> {
        let any = self.asking[key as usize] > 0;
        let workers = self.workers.iter().enumerate().filter(move |_| any);
        let wants = workers.filter_map(|(worker, want)| Some((worker, want.as_ref()?)));
        wants.filter(move |(_, want)| want.key == key && want.denied_ns.is_none())
    }
}
