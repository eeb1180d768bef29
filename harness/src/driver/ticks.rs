//! A scheduled job: every client gets every tick, and the client that gets the lock runs the job.

use std::rc::Rc;
use std::time::Duration;

use picklock_scenarios::TriggerEvent;

use super::client_driver::{ClientDriver, Hold, Purchase, RequestAborted};
use crate::adapter::message::{Answer, RequestKind};
use crate::backend::Backend;
use crate::history::{EventKind, TickSchedule};

impl<B: Backend> ClientDriver<B> {
    /// Requests the lock at each tick, and runs the job if it gets it.
    pub(super) async fn run_schedule(
        &mut self,
        schedule: &TickSchedule,
    ) -> Result<(), RequestAborted> {
        let keys = (0..).take(self.context.spec.scenario.workload.keys);
        while let Some((tick, due_ns)) = self.next_tick(schedule) {
            self.tick = tick;
            self.sleep_until(due_ns).await?;
            self.ping_at_tick().await?;
            // A client that was frozen gets only the latest tick.
            if self.is_next_tick_due(schedule) {
                continue;
            }
            let worker = self.worker;
            self.write(EventKind::TickDue { worker, tick })?;
            for key in keys.clone() {
                self.run_tick(schedule, key).await?;
            }
        }
        Ok(())
    }

    /// Returns the next future tick, and when it is due by this client's clock. A client that was busy does not get the
    /// ticks of that time.
    fn next_tick(&self, schedule: &TickSchedule) -> Option<(u64, u64)> {
        let now_ns = self.context.clock.now_ns();
        let ticks = (self.tick + 1)..=schedule.ticks;
        let mut due = ticks.map(|tick| (tick, self.due_ns(schedule, tick)));
        due.find(|(_, due_ns)| *due_ns >= now_ns)
    }

    fn due_ns(&self, schedule: &TickSchedule, tick: u64) -> u64 {
        let workers = self.context.spec.scenario.workload.workers;
        schedule.due_ns(tick, self.worker, workers)
    }

    /// Returns `true` if the tick after the current one is due.
    fn is_next_tick_due(&self, schedule: &TickSchedule) -> bool {
        let next = self.tick + 1;
        next <= schedule.ticks && self.due_ns(schedule, next) <= self.context.clock.now_ns()
    }

    /// Waits for a tick, or until the worker ends.
    async fn sleep_until(&mut self, due_ns: u64) -> Result<(), RequestAborted> {
        let context = Rc::clone(&self.context);
        let left_ns = due_ns.saturating_sub(context.clock.now_ns());
        tokio::select! {
            biased;
            () = context.live_workers.death(self.worker, self.incarnation) => Err(RequestAborted::WorkerGone),
            () = tokio::time::sleep(Duration::from_nanos(left_ns)) => Ok(()),
            failure = self.client.failure(&context) => Err(failure.into()),
        }
    }

    /// Lets the worker answer a ping. A frozen worker gets its tick when it resumes, because a timer would also fire at
    /// that time.
    async fn ping_at_tick(&mut self) -> Result<(), RequestAborted> {
        let context = Rc::clone(&self.context);
        let (op, patience) = (self.latest_op, self.patience);
        let request = RequestKind::Ping;
        let answer = self
            .client
            .request(&context, op, request, patience, None)
            .await?;
        match answer {
            Answer::Pong => Ok(()),
            other => Err(self.client.wrong_answer(&context, "ping", &other).into()),
        }
    }

    /// Makes one attempt for the current tick. If the schedule catches up on missed ticks, makes further attempts until
    /// all jobs up to the current tick have begun or the next tick is due.
    async fn run_tick(&mut self, schedule: &TickSchedule, key: u32) -> Result<(), RequestAborted> {
        loop {
            let purchase = Purchase {
                key,
                intended_ns: None,
            };
            if let Some(hold) = self.acquire(purchase).await? {
                self.critical_section(hold).await?;
            }
            let is_done = !schedule.catches_up || self.missing_tick(key).is_none();
            if is_done || self.is_next_tick_due(schedule) {
                return Ok(());
            }
            self.pause_after_refusal().await;
        }
    }

    /// Returns the oldest tick up to the current one whose job has not begun.
    fn missing_tick(&self, key: u32) -> Option<u64> {
        let begun = self.context.jobs_begun.borrow();
        (1..=self.tick).find(|tick| !begun.contains(&(key, *tick)))
    }

    /// Runs the job of a tick, and releases the lock. A client that makes up for missed ticks runs the oldest one.
    pub(super) async fn job(&mut self, mut hold: Hold) -> Result<(), RequestAborted> {
        let (worker, op, key) = (self.worker, hold.op, hold.key);
        let schedule = self.context.spec.schedule();
        let catches_up = schedule.is_some_and(|schedule| schedule.catches_up);
        self.ping(&hold).await?;
        let tick = if catches_up {
            self.missing_tick(key)
        } else {
            Some(self.tick)
        };
        // The client can be frozen between the choice of the tick and the job.
        self.ping(&hold).await?;
        let tick = tick.filter(|_| !self.client.has_lost(op));
        if let Some(tick) = tick {
            self.write(EventKind::JobBegan {
                worker,
                op,
                key,
                tick,
            })?;
            self.context.jobs_begun.borrow_mut().insert((key, tick));
            self.event(TriggerEvent::JobBegan, None).await;
            self.work(&mut hold).await?;
            self.ping(&hold).await?;
        }
        self.release(hold).await
    }
}
