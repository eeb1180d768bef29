//! Tracks which locks are wanted, and since when.
//!
//! A lock is wanted while a worker that reaches what it needs requests it. A denied request does not end the want if a
//! worker requests the lock again within a quarter of the progress bound, so that any period as long as the bound
//! contains several requests. It does not matter which worker requests it again, or for which buyer of an open loop. If
//! no worker requests the lock within that time, the lock could not be granted in between, and the next request begins
//! a new waiting time. A client that pauses between two requests is not kept waiting.
//!
//! When the last worker that requested the lock gets it, no worker waits any more. When a fault begins or ends, other
//! workers can reach the nodes that they need, so the waiting times of all workers restart.
//!
//! If a fault keeps a worker from what the lock needs, the lock could not be granted during its attempts anyway, so
//! pauses between them do not matter. Then all its requests for one lock, until it gets that lock, are one want.

use crate::timeline::Attempt;

/// Minimum number of attempts within a want that lasts as long as the progress bound.
const MIN_ATTEMPTS_WITHIN_BOUND: u64 = 4;

/// A request without an answer so far.
#[derive(Debug, Clone, Copy)]
struct Request {
    lock: u32,
    op: u64,
    requested_at_ns: u64,
    /// Whether its worker reached what the lock needs when the requests were last counted.
    reaches: bool,
}

/// The demand for a lock.
#[derive(Debug, Clone, Copy, Default)]
struct Want {
    since_ns: u64,
    /// Number of requests from workers that reach what the lock needs.
    requests: u32,
    /// When the last request was denied, or `None` if no client waits for the lock any more.
    denied_ns: Option<u64>,
}

/// The wanted locks, and the workers that want them.
#[derive(Debug, Default)]
pub(in crate::check) struct Waiters {
    requests: Vec<Option<Request>>,
    /// For each worker, the locks that it has requested and not got since, with the times of its first requests.
    first_requested: Vec<Vec<(u32, u64)>>,
    wants: Vec<Want>,
    patience_ns: u64,
}

impl Waiters {
    pub(in crate::check) fn new(workers: usize, locks: usize, bound_ns: u64) -> Self {
        Waiters {
            requests: vec![None; workers],
            first_requested: vec![Vec::new(); workers],
            wants: vec![Want::default(); locks],
            patience_ns: bound_ns / MIN_ATTEMPTS_WITHIN_BOUND,
        }
    }

    pub(in crate::check) fn requested(&mut self, at_ns: u64, attempt: &Attempt, reaches: bool) {
        let (worker, lock) = (attempt.worker, attempt.lock);
        let Some(first_requested) = self.first_requested.get_mut(worker) else {
            return;
        };
        if first_requested.iter().all(|(known, _)| *known != lock) {
            first_requested.push((lock, at_ns));
        }
        self.withdraw(worker);
        self.requests[worker] = Some(Request {
            lock,
            op: attempt.op,
            requested_at_ns: at_ns,
            reaches,
        });
        if reaches {
            let want = &mut self.wants[lock as usize];
            let is_recent = |denied_ns: u64| at_ns.saturating_sub(denied_ns) <= self.patience_ns;
            if want.requests == 0 && !want.denied_ns.is_some_and(is_recent) {
                want.since_ns = at_ns;
            }
            want.requests += 1;
        }
    }

    pub(in crate::check) fn denied(&mut self, at_ns: u64, attempt: &Attempt) {
        if self.is_requesting(attempt)
            && let Some(want) = self.withdraw(attempt.worker)
        {
            want.denied_ns = Some(at_ns);
        }
    }

    /// Ends a request that got the lock, or whose worker died.
    pub(in crate::check) fn satisfied(&mut self, attempt: &Attempt) {
        if self.is_requesting(attempt) {
            self.withdraw(attempt.worker);
            self.first_requested[attempt.worker].retain(|(lock, _)| *lock != attempt.lock);
        }
    }

    /// Forgets all requests of a worker.
    pub(in crate::check) fn forget(&mut self, worker: usize) {
        self.withdraw(worker);
        if let Some(first_requested) = self.first_requested.get_mut(worker) {
            first_requested.clear();
        }
    }

    pub(in crate::check) fn forget_all(&mut self) {
        for worker in 0..self.requests.len() {
            self.forget(worker);
        }
    }

    /// Restarts the waiting times of all workers.
    pub(in crate::check) fn restart(&mut self, at_ns: u64, reaches: impl Fn(usize, u32) -> bool) {
        self.wants.fill(Want {
            since_ns: at_ns,
            ..Want::default()
        });
        for (worker, request) in self.requests.iter_mut().enumerate() {
            if let Some(request) = request {
                request.reaches = reaches(worker, request.lock);
                self.wants[request.lock as usize].requests += u32::from(request.reaches);
            }
        }
    }

    /// Recounts the requests for this lock, because more may be known about the nodes that it needs.
    pub(in crate::check) fn recount(&mut self, lock: u32, reaches: impl Fn(usize) -> bool) {
        let want = &mut self.wants[lock as usize];
        let (before, mut is_lost, mut first_ns) = (want.requests, false, u64::MAX);
        want.requests = 0;
        for (worker, request) in self.requests.iter_mut().enumerate() {
            let Some(request) = request.as_mut().filter(|request| request.lock == lock) else {
                continue;
            };
            let reached = std::mem::replace(&mut request.reaches, reaches(worker));
            is_lost |= reached && !request.reaches;
            if request.reaches {
                want.requests += 1;
                first_ns = first_ns.min(request.requested_at_ns);
            }
        }
        if want.requests == 0 && before > 0 {
            want.denied_ns = None;
        } else if want.requests > 0 && (is_lost || before == 0) {
            // The worker that began the want may no longer count, so the want begins with the first remaining request.
            want.since_ns = first_ns;
        }
    }

    /// Returns since when the lock has been wanted, or `None` if no worker that reaches what it needs requests it now.
    pub(in crate::check) fn wanted_since_ns(&self, lock: u32) -> Option<u64> {
        let want = &self.wants[lock as usize];
        (want.requests > 0).then_some(want.since_ns)
    }

    /// Returns the worker that has been waiting longest for this lock, and since when, among those that reach what it
    /// needs, or among the others.
    pub(in crate::check) fn longest(&self, lock: u32, reaches: bool) -> Option<(usize, u64)> {
        let requests = self.requests.iter().enumerate();
        let waiting = requests.filter_map(|(worker, request)| {
            request.filter(|request| request.lock == lock && request.reaches == reaches)?;
            Some((worker, self.first_requested_at_ns(worker, lock)?))
        });
        waiting.min_by_key(|(_, since_ns)| *since_ns)
    }

    /// Returns when this worker first requested the lock since it last had it.
    pub(in crate::check) fn first_requested_at_ns(&self, worker: usize, lock: u32) -> Option<u64> {
        let mut requests = self.first_requested.get(worker)?.iter();
        let (_, at_ns) = requests.find(|(requested, _)| *requested == lock)?;
        Some(*at_ns)
    }

    fn is_requesting(&self, attempt: &Attempt) -> bool {
        let request = self.requests.get(attempt.worker).copied().flatten();
        request.is_some_and(|request| request.op == attempt.op)
    }

    /// Withdraws the request of a worker. Returns the remaining want for its lock, if the request counted for it.
    fn withdraw(&mut self, worker: usize) -> Option<&mut Want> {
        let request = self.requests.get_mut(worker)?.take()?;
        let want = self.wants.get_mut(request.lock as usize)?;
        if !request.reaches {
            return None;
        }
        want.requests -= 1;
        want.denied_ns = None;
        Some(want)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The waiting time of a client that turns out not to reach the lock's nodes does not count for others.
    #[test]
    fn recount_ignores_the_wait_of_workers_out_of_reach() {
        let mut waiters = Waiters::new(2, 1, 1000);
        for (worker, requested_at_ns) in [(0, 10), (1, 500)] {
            waiters.requests[worker] = Some(Request {
                lock: 0,
                op: worker as u64 + 1,
                requested_at_ns,
                reaches: true,
            });
        }
        waiters.wants[0] = Want {
            since_ns: 10,
            requests: 2,
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
