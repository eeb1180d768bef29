//! Which locks are wanted, and since when.
//!
//! A lock is wanted while some worker that reaches what it needs asks for it. Such a worker that was
//! denied may ask again soon: within a quarter of the bound on progress, so that there are several
//! requests in any period of that length. It does not matter whether the same worker asks again or
//! another one, or for which buyer of an open loop. If nobody asks again for longer than that, the lock
//! had no chance in between, and the next request begins a new want. A client that pauses between two
//! requests is not being kept waiting.
//!
//! The last one that asked may also get the lock: then nobody wants it any more. A fault that begins or
//! ends changes who reaches what, so all wants begin anew.
//!
//! Where a fault keeps a worker from what the lock needs, pauses between its attempts are no chances
//! for the lock. All its requests for one lock, until it gets that lock, are then one want.

use crate::timeline::Attempt;

/// A continuous want as long as the bound contains at least this many attempts.
const ATTEMPTS_WITHIN_BOUND: u64 = 4;

/// A request that has not been answered.
#[derive(Debug, Clone, Copy)]
struct Request {
    key: u32,
    op: u64,
    requested_at_ns: u64,
    /// Its worker reaches what the lock needs, by what was known when that was last counted.
    reaches: bool,
}

/// How much a lock is wanted.
#[derive(Debug, Clone, Copy, Default)]
struct Want {
    since_ns: u64,
    /// How many ask for it and reach what it needs.
    asking: u32,
    /// When the last one of them was denied; `None`: nobody wants it any more.
    denied_ns: Option<u64>,
}

/// The locks that are wanted, and the workers that want them.
#[derive(Debug, Default)]
pub(in crate::check) struct Waiters {
    requests: Vec<Option<Request>>,
    /// For each worker, the locks that it has asked for and not had since: the key, and when it first
    /// asked.
    first_asked: Vec<Vec<(u32, u64)>>,
    wants: Vec<Want>,
    patience_ns: u64,
}

impl Waiters {
    pub(in crate::check) fn new(workers: usize, keys: usize, bound_ns: u64) -> Self {
        Waiters {
            requests: vec![None; workers],
            first_asked: vec![Vec::new(); workers],
            wants: vec![Want::default(); keys],
            patience_ns: bound_ns / ATTEMPTS_WITHIN_BOUND,
        }
    }

    pub(in crate::check) fn asked(&mut self, at_ns: u64, attempt: &Attempt, reaches: bool) {
        let (worker, key) = (attempt.worker, attempt.key);
        let Some(first_asked) = self.first_asked.get_mut(worker) else {
            return;
        };
        if first_asked.iter().all(|(asked, _)| *asked != key) {
            first_asked.push((key, at_ns));
        }
        self.withdraw(worker);
        self.requests[worker] = Some(Request {
            key,
            op: attempt.op,
            requested_at_ns: at_ns,
            reaches,
        });
        if reaches {
            let want = &mut self.wants[key as usize];
            let soon = |denied_ns: u64| at_ns.saturating_sub(denied_ns) <= self.patience_ns;
            if want.asking == 0 && !want.denied_ns.is_some_and(soon) {
                want.since_ns = at_ns;
            }
            want.asking += 1;
        }
    }

    pub(in crate::check) fn denied(&mut self, at_ns: u64, attempt: &Attempt) {
        if self.is_asking(attempt)
            && let Some(want) = self.withdraw(attempt.worker)
        {
            want.denied_ns = Some(at_ns);
        }
    }

    /// The attempt ended with the lock, or because its worker died.
    pub(in crate::check) fn satisfied(&mut self, attempt: &Attempt) {
        if self.is_asking(attempt) {
            self.withdraw(attempt.worker);
            self.first_asked[attempt.worker].retain(|(key, _)| *key != attempt.key);
        }
    }

    /// The worker wants nothing any more.
    pub(in crate::check) fn forget(&mut self, worker: usize) {
        self.withdraw(worker);
        if let Some(first_asked) = self.first_asked.get_mut(worker) {
            first_asked.clear();
        }
    }

    pub(in crate::check) fn forget_all(&mut self) {
        for worker in 0..self.requests.len() {
            self.forget(worker);
        }
    }

    /// A fault began or ended.
    pub(in crate::check) fn begin_anew(
        &mut self,
        at_ns: u64,
        reaches: impl Fn(usize, u32) -> bool,
    ) {
        self.wants.fill(Want {
            since_ns: at_ns,
            ..Want::default()
        });
        for (worker, request) in self.requests.iter_mut().enumerate() {
            if let Some(request) = request {
                request.reaches = reaches(worker, request.key);
                self.wants[request.key as usize].asking += u32::from(request.reaches);
            }
        }
    }

    /// Counts the requests for this lock anew: which nodes it needs may have shown itself since they came.
    pub(in crate::check) fn recount(&mut self, key: u32, reaches: impl Fn(usize) -> bool) {
        let want = &mut self.wants[key as usize];
        let (before, mut is_lost, mut first_ns) = (want.asking, false, u64::MAX);
        want.asking = 0;
        for (worker, request) in self.requests.iter_mut().enumerate() {
            let Some(request) = request.as_mut().filter(|request| request.key == key) else {
                continue;
            };
            let reached = std::mem::replace(&mut request.reaches, reaches(worker));
            is_lost |= reached && !request.reaches;
            if request.reaches {
                want.asking += 1;
                first_ns = first_ns.min(request.requested_at_ns);
            }
        }
        if want.asking == 0 && before > 0 {
            want.denied_ns = None;
        } else if want.asking > 0 && (is_lost || before == 0) {
            // A want that others began who do not count is none of those that are left.
            want.since_ns = first_ns;
        }
    }

    /// Since when the lock has been wanted, if somebody asks for it now and reaches what it needs.
    pub(in crate::check) fn wanted_since_ns(&self, key: u32) -> Option<u64> {
        let want = &self.wants[key as usize];
        (want.asking > 0).then_some(want.since_ns)
    }

    /// Of the workers that ask for this lock, and reach what it needs or do not, the one that first asked, and when.
    pub(in crate::check) fn longest(&self, key: u32, reaches: bool) -> Option<(usize, u64)> {
        let requests = self.requests.iter().enumerate();
        let asking = requests.filter_map(|(worker, request)| {
            let request = request.filter(|it| it.key == key && it.reaches == reaches);
            request.and_then(|_| Some((worker, self.first_requested_at_ns(worker, key)?)))
        });
        asking.min_by_key(|(_, since_ns)| *since_ns)
    }

    /// When this worker first asked for the lock, since it last had it.
    pub(in crate::check) fn first_requested_at_ns(&self, worker: usize, key: u32) -> Option<u64> {
        let mut asked = self.first_asked.get(worker)?.iter();
        let (_, at_ns) = asked.find(|(asked, _)| *asked == key)?;
        Some(*at_ns)
    }

    fn is_asking(&self, attempt: &Attempt) -> bool {
        let request = self.requests.get(attempt.worker).copied().flatten();
        request.is_some_and(|request| request.op == attempt.op)
    }

    /// The worker does not ask any more. Returns how much the lock is wanted without it, if it counted.
    fn withdraw(&mut self, worker: usize) -> Option<&mut Want> {
        let request = self.requests.get_mut(worker)?.take()?;
        let want = self.wants.get_mut(request.key as usize)?;
        if !request.reaches {
            return None;
        }
        want.asking -= 1;
        want.denied_ns = None;
        Some(want)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A client that turns out not to reach the lock's nodes leaves its time to nobody.
    #[test]
    fn a_recount_forgets_since_when_others_wanted_the_lock() {
        let mut waiters = Waiters::new(2, 1, 1000);
        for (worker, requested_at_ns) in [(0, 10), (1, 500)] {
            waiters.requests[worker] = Some(Request {
                key: 0,
                op: worker as u64 + 1,
                requested_at_ns,
                reaches: true,
            });
        }
        waiters.wants[0] = Want {
            since_ns: 10,
            asking: 2,
            denied_ns: None,
        };
        waiters.recount(0, |_| true);
        assert_eq!(waiters.wanted_since_ns(0), Some(10));
        waiters.recount(0, |worker| worker == 1);
        assert_eq!(waiters.wanted_since_ns(0), Some(500));
        waiters.recount(0, |_| false);
        assert_eq!(waiters.wanted_since_ns(0), None);
        waiters.recount(0, |_| true);
        assert_eq!(waiters.wanted_since_ns(0), Some(10));
    }
}
