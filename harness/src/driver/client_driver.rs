//! One client: the loop that competes for the lock, with the same code in every backend.

use std::rc::Rc;
use std::time::Duration;

use picklock_scenarios::{Phase, SoldOut};
use rand::RngExt;
use rand::rngs::StdRng;

use super::worker_client::{WorkerClient, WorkerFailure};
use crate::backend::Backend;
use crate::context::RunContext;
use crate::history::{EndReason, EndedBy, EventKind};

/// How long a worker may take to answer, in addition to all waits that the scenario causes, before it counts as hung.
/// The time is long, because a verdict must not depend on how busy the machine is.
pub(super) const GRACE: Duration = Duration::from_secs(5);

/// The reason why an attempt was aborted.
pub(super) enum RequestAborted {
    /// The nemesis has killed the worker, or the worker has ended its client. This is already recorded in the history.
    WorkerGone,
    /// The worker exited, hung or broke the protocol on its own.
    WorkerFailed(WorkerFailure),
}

impl From<WorkerFailure> for RequestAborted {
    fn from(failure: WorkerFailure) -> Self {
        RequestAborted::WorkerFailed(failure)
    }
}

/// One client, with its connection to its worker.
pub struct ClientDriver<B> {
    pub(super) context: Rc<RunContext<B>>,
    pub(super) worker: usize,
    /// Number of earlier starts of the worker.
    pub(super) incarnation: u32,
    pub(super) client: WorkerClient,
    /// How long the worker may take to answer, in addition to the waits that a request allows.
    pub(super) patience: Duration,
    pub(super) rng: StdRng,
    /// Keys that this client has not yet seen sold out.
    pub(super) unsold_keys: Vec<u32>,
    /// The addresses of the nodes, as the worker received them.
    pub(super) nodes: Vec<String>,
    /// Whether the worker has used the nodes, or the history already states that it does not use them.
    pub(super) uses_nodes: bool,
    /// The client's latest attempt, or 0 before the first.
    pub(super) latest_op: u64,
    /// The attempt by which the client holds a second lock during its section, or `None` if it holds only one.
    pub(super) also_held: Option<u64>,
    /// Number of units bought so far.
    pub(super) bought: u32,
    /// Number of sections failed so far.
    pub(super) failed: u32,
    /// The latest tick that the client got, or 0 before the first.
    pub(super) tick: u64,
}

/// One purchase to be made.
#[derive(Debug, Clone, Copy)]
pub(super) struct Purchase {
    /// The key of the lock and stock.
    pub(super) key: u32,
    /// In an open loop, the buyer's arrival time in nanoseconds since the run began.
    pub(super) intended_ns: Option<u64>,
}

/// The state of a hold.
pub(super) struct Hold {
    pub(super) op: u64,
    pub(super) key: u32,
    pub(super) token: String,
    pub(super) fence: Option<u64>,
}

impl<B: Backend> ClientDriver<B> {
    /// Buys until everything is sold out, the worker is gone for good, or the future is dropped. Returns the client, so
    /// that its worker lives until the end of the run, like a program that has other work.
    pub async fn run(mut self) -> Self {
        self.context.start_gate.pass(self.worker).await;
        loop {
            match self.buy_all().await {
                Ok(()) => return self,
                Err(aborted) => self.record_failure(aborted).await,
            }
            if !self.restart_worker().await {
                return self;
            }
        }
    }

    /// Waits until the worker may be restarted, and starts it. Returns `false` if the worker is gone for good.
    async fn restart_worker(&mut self) -> bool {
        let context = Rc::clone(&self.context);
        while let Some(incarnation) = context.live_workers.next_incarnation(self.worker).await {
            // Commands that the program sends while it starts do not belong to a request.
            let op = self.latest_op;
            context.backend.set_phase(self.worker, op, Phase::Idle);
            match ClientDriver::start(&context, self.worker, incarnation).await {
                Ok(fresh) => {
                    let (bought, failed) = (self.bought, self.failed);
                    *self = fresh;
                    (self.bought, self.failed, self.latest_op) = (bought, failed, op);
                    return true;
                }
                // A fault killed the worker before it was ready, and may restart it.
                Err(_) if context.live_workers.is_over(self.worker, incarnation) => {}
                Err(refusal) => {
                    self.record_down(refusal.to_string(), EndedBy::Itself);
                    return false;
                }
            }
        }
        false
    }

    async fn buy_all(&mut self) -> Result<(), RequestAborted> {
        let context = Rc::clone(&self.context);
        if let Some(schedule) = context.spec.schedule() {
            return self.run_schedule(&schedule).await;
        }
        let workload = &context.spec.scenario.workload;
        let think = workload.think_of(self.worker).resolve(context.spec.ttl());
        while let Some(purchase) = self.next_purchase().await? {
            let has_held = match context.arrivals {
                Some(_) => self.serve(purchase).await?,
                None => self.buy(purchase).await?,
            };
            // A client that was refused has bought nothing, and tries again without a pause for thinking.
            if has_held && !think.is_zero() {
                tokio::time::sleep(think).await;
            }
        }
        Ok(())
    }

    /// Returns the next purchase, or `None` if there is none. In an open loop it waits for a buyer to arrive.
    async fn next_purchase(&mut self) -> Result<Option<Purchase>, RequestAborted> {
        let context = Rc::clone(&self.context);
        let Some(arrivals) = &context.arrivals else {
            return Ok(self.pick_key().map(|key| Purchase {
                key,
                intended_ns: None,
            }));
        };
        let turn = tokio::select! {
            biased;
            () = context.live_workers.death(self.worker, self.incarnation) => return Err(RequestAborted::WorkerGone),
            turn = arrivals.turn() => turn,
        };
        // If everything is sold out, the arrival stays in the queue as unserved.
        let Some(key) = self.pick_key() else {
            return Ok(None);
        };
        Ok(arrivals.take(turn).map(|intended_ns| Purchase {
            key,
            intended_ns: Some(intended_ns),
        }))
    }

    /// Returns a key whose stock may not be sold out, or `None` if there is none or the client has bought enough.
    fn pick_key(&mut self) -> Option<u32> {
        self.drop_sold_out();
        let max = self.context.spec.scenario.workload.purchases;
        let served = max.is_some_and(|max| self.bought >= max);
        if self.unsold_keys.is_empty() || served {
            return None;
        }
        let pick = self.rng.random_range(0..self.unsold_keys.len());
        Some(self.unsold_keys[pick])
    }

    /// Drops the keys that have been announced as sold out.
    fn drop_sold_out(&mut self) {
        if self.context.spec.scenario.workload.sold_out == SoldOut::Announced {
            let stock = self.context.stock.borrow();
            self.unsold_keys.retain(|key| !stock.is_announced(*key));
        }
    }

    /// Makes one attempt of a closed loop. Returns `true` if the client has held the lock.
    async fn buy(&mut self, purchase: Purchase) -> Result<bool, RequestAborted> {
        if self.context.spec.scenario.workload.locks_each > 1 {
            return self.buy_with_two(purchase).await;
        }
        let Some(hold) = self.acquire(purchase).await? else {
            self.pause_after_refusal().await;
            return Ok(false);
        };
        self.critical_section(hold).await?;
        Ok(true)
    }

    /// Serves one arrival of an open loop. After a refusal or a failure the buyer leaves. With
    /// `again` it retries until it gets the lock or everything is announced as sold out.
    async fn serve(&mut self, purchase: Purchase) -> Result<bool, RequestAborted> {
        let spec = &self.context.spec;
        let stays = !spec.scenario.workload.again.resolve(spec.ttl()).is_zero();
        while self.unsold_keys.contains(&purchase.key) {
            if let Some(hold) = self.acquire(purchase).await? {
                self.critical_section(hold).await?;
                return Ok(true);
            }
            if !stays {
                return Ok(false);
            }
            self.pause_after_refusal().await;
            self.drop_sold_out();
        }
        Ok(false)
    }

    /// Waits after a refusal, so that a lock that refuses immediately does not make the client spin.
    pub(super) async fn pause_after_refusal(&mut self) {
        let spec = &self.context.spec;
        let again = spec.scenario.workload.again.resolve(spec.ttl());
        let millis = match u64::try_from(again.as_millis()).unwrap_or(u64::MAX / 2) {
            0 => self.rng.random_range(5..20),
            again => self.rng.random_range(again / 2..=again + again / 2),
        };
        tokio::time::sleep(Duration::from_millis(millis)).await;
    }

    /// After the client has finished, records the exit of its worker if the worker has exited.
    pub(super) async fn record_exit(&mut self) {
        if let Some(reason) = self.client.exit_reason() {
            let gone = WorkerFailure::Gone(reason);
            self.record_failure(RequestAborted::WorkerFailed(gone))
                .await;
        }
    }

    /// Returns the reason of an exit, extended by the last line that the worker printed.
    fn with_last_log_line(&self, reason: String) -> String {
        let words = self.context.backend.last_log_line(self.worker);
        words.map_or(reason.clone(), |words| {
            format!("{reason}, after printing: {words}")
        })
    }

    async fn record_failure(&self, aborted: RequestAborted) {
        // If the others are waiting for the first attempt of this worker, that attempt will never be answered.
        self.context.start_gate.open();
        if self.check_alive().is_err() {
            return;
        }
        let (reason, by) = match aborted {
            RequestAborted::WorkerGone => return,
            RequestAborted::WorkerFailed(WorkerFailure::Gone(reason)) => {
                let was_killed = self.context.backend.was_killed(self.worker);
                let by = if was_killed {
                    EndedBy::Signal
                } else {
                    EndedBy::Itself
                };
                (self.with_last_log_line(reason), by)
            }
            RequestAborted::WorkerFailed(WorkerFailure::BrokeProtocol(_)) => {
                ("it broke the adapter protocol".into(), EndedBy::Protocol)
            }
            RequestAborted::WorkerFailed(hung @ WorkerFailure::Hung { .. }) => {
                (hung.to_string(), EndedBy::Deadline)
            }
        };
        self.record_down(reason, by);
        // Kills a hung worker. If it has already exited, the kill fails, which does not matter.
        self.context.backend.kill_worker(self.worker).await.ok();
    }

    /// Records that the worker is dead, together with all clients in its process.
    fn record_down(&self, reason: String, by: EndedBy) {
        let context = &self.context;
        if context.live_workers.mark_down(self.worker, false) {
            let workload = &context.spec.scenario.workload;
            let peers = workload.process_peers(self.worker);
            let peers = peers.filter(|mate| context.live_workers.mark_down(*mate, false));
            let shared = format!("it ran in the process of client {}", self.worker);
            let peers = peers.map(|mate| (mate, shared.clone()));
            for (worker, reason) in std::iter::once((self.worker, reason)).chain(peers) {
                context.recorder.write(EventKind::WorkerDown {
                    worker,
                    by_fault: false,
                    reason,
                    ended_by: Some(by),
                });
            }
            // A single remaining client has no competitor, so the run ends. If the worker exited although no fault
            // ended it, the run continues, because the remaining clients must still get the lock.
            let left = context.live_workers.remaining();
            let is_over = left == 0 || by != EndedBy::Itself && left < 2;
            if workload.workers >= 2 && is_over {
                context.early_end.request(EndReason::TooFewClients);
            }
        }
    }
}
