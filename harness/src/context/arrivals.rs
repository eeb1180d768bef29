//! The queue of an open loop: buyers arrive at a fixed rate, and free workers serve them.
//!
//! There is one queue for all workers. The buyer that arrived first is served first, by the worker
//! that has been idle longest. With a queue for each worker, the buyers of a frozen worker would
//! wait without affecting the figures of the others.
//!
//! A closed loop sends its next request only after an answer. So a lock that stalls for a second delays one measured
//! attempt of each worker, and suppresses all other attempts that would have been made in that second: *coordinated
//! omission*. The remedy is to schedule each attempt in advance, and to measure from the scheduled time. See Gil Tene,
//! "How NOT to Measure Latency" (Strange Loop 2015), and his load generator [wrk2](https://github.com/giltene/wrk2).

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::time::Duration;

use picklock_scenarios::{Rate, Workload};
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::clock::Clock;

/// The queue of buyers that have arrived and are not served yet.
#[derive(Debug)]
pub struct Arrivals {
    rate: Rate,
    duration: Duration,
    ttl: Duration,
    /// The arrival time of each waiting buyer in nanoseconds since the run began, the oldest first.
    queue: RefCell<VecDeque<u64>>,
    arrived: Cell<u64>,
    /// One permit for each waiting buyer. After the last arrival there is one additional permit, which the workers pass
    /// on to each other, so that all of them learn about the end. Idle workers get permits in the order in which they
    /// became idle.
    turns: Semaphore,
}

/// A worker's turn to serve a buyer. Dropping it passes the turn to the next worker.
#[derive(Debug)]
pub struct Turn<'a>(SemaphorePermit<'a>);

impl Arrivals {
    /// Creates the arrivals of an open loop, or returns `None` for a closed loop.
    pub fn for_workload(workload: &Workload, ttl: Duration) -> Option<Self> {
        Some(Arrivals {
            rate: workload.arrivals?,
            duration: workload.duration?.resolve(ttl),
            ttl,
            queue: RefCell::default(),
            arrived: Cell::new(0),
            turns: Semaphore::new(0),
        })
    }

    /// Lets the buyers arrive, starting immediately. Returns after the last arrival.
    ///
    /// In the server backends the timer may be late by about a millisecond. The scheduled time
    /// counts as the arrival, so this delay is part of the wait.
    pub async fn generate(&self, clock: &Clock) {
        let first_ns = clock.now_ns();
        for number in 0.. {
            let after_ns = self.rate.nth_ns(number, self.ttl);
            if u128::from(after_ns) >= self.duration.as_nanos() {
                break;
            }
            let intended_ns = first_ns.saturating_add(after_ns);
            tokio::time::sleep_until(clock.instant(intended_ns)).await;
            self.queue.borrow_mut().push_back(intended_ns);
            self.arrived.set(number + 1);
            self.turns.add_permits(1);
        }
        self.turns.add_permits(1);
    }

    /// Waits until there is a buyer to serve, or until all buyers have been served.
    pub async fn turn(&self) -> Turn<'_> {
        // The semaphore is never closed, so this cannot fail.
        match self.turns.acquire().await {
            Ok(permit) => Turn(permit),
            Err(_) => std::future::pending().await,
        }
    }

    /// Removes the oldest buyer from the queue, and returns its arrival time. Returns `None` if no
    /// buyer is left and none will arrive.
    pub fn take(&self, turn: Turn<'_>) -> Option<u64> {
        let intended_ns = self.queue.borrow_mut().pop_front()?;
        turn.0.forget();
        Some(intended_ns)
    }

    /// Returns the number of buyers that have arrived so far.
    pub fn arrived(&self) -> u64 {
        self.arrived.get()
    }

    /// Returns the number of buyers that are still in the queue.
    pub fn waiting(&self) -> u64 {
        self.queue.borrow().len() as u64
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
        Rc::new(Arrivals::for_workload(&workload, Duration::from_secs(1)).unwrap())
    }

    /// Returns the arrivals that each worker served, in milliseconds, if its purchases take `takes_ms`.
    async fn served(arrivals: &Rc<Arrivals>, takes_ms: &[u64]) -> Vec<Vec<u64>> {
        let clock = Clock::start();
        let generator = Rc::clone(arrivals);
        spawn_local(async move { generator.generate(&clock).await });
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
    async fn idle_workers_take_turns() {
        let local = LocalSet::new();
        let arrivals = arrivals("100/s", "60ms");
        let served = local.run_until(served(&arrivals, &[1, 1, 1])).await;
        assert_eq!(served, [[0, 30], [10, 40], [20, 50]]);
        assert_eq!((arrivals.arrived(), arrivals.waiting()), (6, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn buyers_are_served_in_order_of_arrival() {
        let local = LocalSet::new();
        let arrivals = arrivals("100/s", "80ms");
        let served = local.run_until(served(&arrivals, &[500, 25])).await;
        // The second worker serves the remaining buyers, in order of arrival.
        assert_eq!(served, [vec![0], vec![10, 20, 30, 40, 50, 60, 70]]);
    }

    #[tokio::test(start_paused = true)]
    async fn dropped_turn_passes_to_the_next_worker() {
        let local = LocalSet::new();
        let arrivals = arrivals("100/s", "10ms");
        let taken = async {
            let generator = Rc::clone(&arrivals);
            let clock = Clock::start();
            spawn_local(async move { generator.generate(&clock).await });
            drop(arrivals.turn().await);
            assert_eq!(arrivals.waiting(), 1);
            assert_eq!(arrivals.take(arrivals.turn().await), Some(0));
            // Ends the arrivals and informs every worker.
            assert_eq!(arrivals.take(arrivals.turn().await), None);
            assert_eq!(arrivals.take(arrivals.turn().await), None);
        };
        local.run_until(taken).await;
    }
}
