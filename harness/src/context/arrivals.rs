//! The line of an open loop: buyers come at a fixed rate, and the free workers serve them.
//!
//! One line for all workers, as at a bank: whoever came first is served first, by the worker that
//! has been idle longest. With a line for each worker, a frozen one would hide from the others'
//! figures how long its own buyers wait.
//!
//! A closed loop asks again only when it was answered, so a lock that stands still for a second
//! delays one measured attempt of each worker and suppresses all the others that would have met
//! that second: *coordinated omission*. The cure is to fix beforehand when each attempt is to
//! begin, and to measure from there. See Gil Tene, "How NOT to Measure Latency" (Strange Loop
//! 2015), and his load generator [wrk2](https://github.com/giltene/wrk2).

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::time::Duration;

use picklock_scenarios::{Rate, Workload};
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::clock::Clock;

/// Who has come and not been served yet.
#[derive(Debug)]
pub struct Arrivals {
    rate: Rate,
    lasts: Duration,
    ttl: Duration,
    /// When each of them came, nanoseconds since the run began; the oldest first.
    line: RefCell<VecDeque<u64>>,
    came: Cell<u64>,
    /// A turn for each who waits, and one more when nobody will come any more: that one goes round
    /// among the workers. Idle workers get theirs in the order in which they became idle.
    turns: Semaphore,
}

/// A worker's turn to serve somebody. Dropped, it is the next worker's.
#[derive(Debug)]
pub struct Turn<'a>(SemaphorePermit<'a>);

impl Arrivals {
    /// As the scenario wants them; `None`: it is a closed loop.
    pub fn of(workload: &Workload, ttl: Duration) -> Option<Self> {
        Some(Arrivals {
            rate: workload.arrivals?,
            lasts: workload.duration?.resolve(ttl),
            ttl,
            line: RefCell::default(),
            came: Cell::new(0),
            turns: Semaphore::new(0),
        })
    }

    /// Lets them come, the first one now. Ends with the last one.
    ///
    /// In the real worlds the timer may be late by a millisecond or so. When a buyer came is when it
    /// was to come, so that belongs to what it waited.
    pub async fn come(&self, clock: &Clock) {
        let first_ns = clock.now_ns();
        for number in 0.. {
            let after_ns = self.rate.nth_ns(number, self.ttl);
            if u128::from(after_ns) >= self.lasts.as_nanos() {
                break;
            }
            let intended_ns = first_ns.saturating_add(after_ns);
            tokio::time::sleep_until(clock.instant(intended_ns)).await;
            self.line.borrow_mut().push_back(intended_ns);
            self.came.set(number + 1);
            self.turns.add_permits(1);
        }
        self.turns.add_permits(1);
    }

    /// Waits until somebody is there to be served, or nobody will come any more.
    pub async fn turn(&self) -> Turn<'_> {
        // The line is never closed, so there is always a turn to wait for.
        match self.turns.acquire().await {
            Ok(permit) => Turn(permit),
            Err(_) => std::future::pending().await,
        }
    }

    /// Takes the oldest one out of the line: when it came. `None`: nobody is left, nor will come.
    pub fn take(&self, turn: Turn<'_>) -> Option<u64> {
        let intended_ns = self.line.borrow_mut().pop_front()?;
        turn.0.forget();
        Some(intended_ns)
    }

    /// How many have come so far.
    pub fn came(&self) -> u64 {
        self.came.get()
    }

    /// How many of them are still in the line.
    pub fn waiting(&self) -> u64 {
        self.line.borrow().len() as u64
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use tokio::task::{LocalSet, spawn_local};

    use super::*;

    const MS: u64 = 1_000_000;

    fn arrivals(rate: &str, duration: &str) -> Rc<Arrivals> {
        let workload = Workload {
            arrivals: Some(rate.parse().unwrap()),
            duration: Some(duration.parse().unwrap()),
            ..Workload::default()
        };
        Rc::new(Arrivals::of(&workload, Duration::from_secs(1)).unwrap())
    }

    /// What each worker served, in milliseconds, when it takes so long for a purchase.
    async fn served(arrivals: &Rc<Arrivals>, takes_ms: &[u64]) -> Vec<Vec<u64>> {
        let clock = Clock::start();
        let coming = Rc::clone(arrivals);
        spawn_local(async move { coming.come(&clock).await });
        let workers: Vec<_> = takes_ms
            .iter()
            .map(|takes_ms| Duration::from_millis(*takes_ms))
            .map(|takes| {
                let arrivals = Rc::clone(arrivals);
                spawn_local(async move {
                    let mut served = Vec::new();
                    while let Some(intended_ns) = arrivals.take(arrivals.turn().await) {
                        served.push(intended_ns / MS);
                        tokio::time::sleep(takes).await;
                    }
                    served
                })
            })
            .collect();
        let mut all = Vec::new();
        for worker in workers {
            all.push(worker.await.unwrap());
        }
        all
    }

    #[tokio::test(start_paused = true)]
    async fn workers_that_keep_up_take_turns() {
        let local = LocalSet::new();
        let arrivals = arrivals("100/s", "60ms");
        let served = local.run_until(served(&arrivals, &[1, 1, 1])).await;
        assert_eq!(served, [[0, 30], [10, 40], [20, 50]]);
        assert_eq!((arrivals.came(), arrivals.waiting()), (6, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn the_oldest_one_is_served_first_and_everybody_in_the_end() {
        let local = LocalSet::new();
        let arrivals = arrivals("100/s", "80ms");
        let served = local.run_until(served(&arrivals, &[500, 25])).await;
        // The second worker drains what the first one leaves, in the order of coming.
        assert_eq!(served, [vec![0], vec![10, 20, 30, 40, 50, 60, 70]]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_turn_that_is_not_taken_is_the_next_workers() {
        let local = LocalSet::new();
        let arrivals = arrivals("100/s", "10ms");
        let taken = async {
            let coming = Rc::clone(&arrivals);
            let clock = Clock::start();
            spawn_local(async move { coming.come(&clock).await });
            drop(arrivals.turn().await);
            assert_eq!(arrivals.waiting(), 1);
            assert_eq!(arrivals.take(arrivals.turn().await), Some(0));
            // Nobody will come any more, and every worker hears of it.
            assert_eq!(arrivals.take(arrivals.turn().await), None);
            assert_eq!(arrivals.take(arrivals.turn().await), None);
        };
        local.run_until(taken).await;
    }
}
