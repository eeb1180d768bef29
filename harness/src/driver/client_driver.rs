//! One buyer: the loop that competes for the lock, the same code in every backend.

use std::rc::Rc;
use std::time::Duration;

use picklock_scenarios::SoldOut;
use rand::RngExt;
use rand::rngs::StdRng;

use super::worker_client::{Silence, WorkerClient};
use crate::backend::Backend;
use crate::context::RunContext;
use crate::history::{EndReason, EndedBy, EventKind};

/// How long a worker may take to answer, in addition to all waiting that the scenario causes,
/// before it counts as hung. It is long, because a verdict must not depend on a busy machine.
pub(super) const GRACE: Duration = Duration::from_secs(5);

/// Why an attempt was aborted.
pub(super) enum RequestAborted {
    /// The nemesis killed the worker. The history already has it.
    WorkerGone,
    /// The worker died or hung on its own.
    Silent(Silence),
}

impl From<Silence> for RequestAborted {
    fn from(silence: Silence) -> Self {
        RequestAborted::Silent(silence)
    }
}

/// One buyer, with its connection to its worker.
pub struct ClientDriver<B> {
    pub(super) context: Rc<RunContext<B>>,
    pub(super) worker: usize,
    /// How often the worker has been started before.
    pub(super) incarnation: u32,
    pub(super) talk: WorkerClient,
    /// How long its worker may take to answer, in addition to what it was asked to wait.
    pub(super) patience: Duration,
    pub(super) rng: StdRng,
    /// Keys that this buyer has not yet seen sold out.
    pub(super) open_keys: Vec<u32>,
    /// The addresses of the nodes, as its worker was given them.
    pub(super) nodes: Vec<String>,
    /// True when its worker was seen to use them, or the history says that it does not.
    pub(super) uses_nodes: bool,
    /// Units that it bought so far.
    pub(super) bought: u32,
    /// Sections of it that failed so far.
    pub(super) failed: u32,
}

/// One purchase to be made.
#[derive(Debug, Clone, Copy)]
pub(super) struct Purchase {
    /// From which lock's stock.
    pub(super) key: u32,
    /// In an open loop: when its buyer arrived, nanoseconds since the run began.
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
    /// Buys until everything is sold out, the worker is gone for good, or the future is dropped. Returns itself: its
    /// worker lives until the run is over, as a program does that has other work.
    pub async fn run(mut self) -> Self {
        self.context.start_gate.pass(self.worker).await;
        loop {
            match self.shop().await {
                Ok(()) => return self,
                Err(broken) => self.shut_down(broken).await,
            }
            if !self.come_back().await {
                return self;
            }
        }
    }

    /// Starts its worker again. False: the worker is gone for good.
    async fn come_back(&mut self) -> bool {
        let context = Rc::clone(&self.context);
        while let Some(incarnation) = context.live_workers.restart(self.worker).await {
            match ClientDriver::start(&context, self.worker, incarnation).await {
                Ok(fresh) => {
                    let (bought, failed) = (self.bought, self.failed);
                    *self = fresh;
                    (self.bought, self.failed) = (bought, failed);
                    return true;
                }
                // A fault has killed it before it was ready, and may let it come back.
                Err(_) if context.live_workers.is_over(self.worker, incarnation) => {}
                Err(refusal) => {
                    self.record_down(refusal.to_string(), EndedBy::Itself);
                    return false;
                }
            }
        }
        false
    }

    async fn shop(&mut self) -> Result<(), RequestAborted> {
        let context = Rc::clone(&self.context);
        let workload = &context.spec.scenario.workload;
        let think = workload.think.resolve(context.spec.ttl());
        while let Some(purchase) = self.next_purchase().await? {
            let has_held = match context.arrivals {
                Some(_) => self.serve(purchase).await?,
                None => self.buy(purchase).await?,
            };
            // Who was refused has bought nothing, and asks again.
            if has_held && !think.is_zero() {
                tokio::time::sleep(think).await;
            }
        }
        Ok(())
    }

    /// The next purchase; `None`: there is none. In an open loop it waits for a buyer to arrive.
    async fn next_purchase(&mut self) -> Result<Option<Purchase>, RequestAborted> {
        let context = Rc::clone(&self.context);
        let Some(arrivals) = &context.arrivals else {
            return Ok(self.pick().map(|key| Purchase {
                key,
                intended_ns: None,
            }));
        };
        let turn = tokio::select! {
            biased;
            () = context.live_workers.death(self.worker, self.incarnation) => return Err(RequestAborted::WorkerGone),
            turn = arrivals.turn() => turn,
        };
        // If everything is sold out, the arrival stays in the queue: it was not served.
        let Some(key) = self.pick() else {
            return Ok(None);
        };
        Ok(arrivals.take(turn).map(|intended_ns| Purchase {
            key,
            intended_ns: Some(intended_ns),
        }))
    }

    /// A lock whose stock may not be sold out; `None`: there is none, or this buyer has enough.
    fn pick(&mut self) -> Option<u32> {
        self.drop_sold_out();
        let most = self.context.spec.scenario.workload.purchases;
        let served = most.is_some_and(|most| self.bought >= most);
        if self.open_keys.is_empty() || served {
            return None;
        }
        let pick = self.rng.random_range(0..self.open_keys.len());
        Some(self.open_keys[pick])
    }

    /// Drops the keys that have been announced as sold out.
    fn drop_sold_out(&mut self) {
        if self.context.spec.scenario.workload.sold_out == SoldOut::Announced {
            let stock = self.context.stock.borrow();
            self.open_keys.retain(|key| !stock.is_announced(*key));
        }
    }

    /// One attempt of a closed loop. True: it has held the lock.
    async fn buy(&mut self, purchase: Purchase) -> Result<bool, RequestAborted> {
        let Some(hold) = self.acquire(purchase).await? else {
            self.pause_after_refusal().await;
            return Ok(false);
        };
        self.critical_section(hold).await?;
        Ok(true)
    }

    /// One arrival of an open loop. When it is refused or fails, it goes away. With `again` it asks
    /// until it gets the lock or everything is announced as sold out.
    async fn serve(&mut self, purchase: Purchase) -> Result<bool, RequestAborted> {
        let spec = &self.context.spec;
        let stays = !spec.scenario.workload.again.resolve(spec.ttl()).is_zero();
        while self.open_keys.contains(&purchase.key) {
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

    /// A lock that refuses at once must not make the buyer spin.
    async fn pause_after_refusal(&mut self) {
        let spec = &self.context.spec;
        let again = spec.scenario.workload.again.resolve(spec.ttl());
        let millis = match u64::try_from(again.as_millis()).unwrap_or(u64::MAX / 2) {
            0 => self.rng.random_range(5..20),
            again => self.rng.random_range(again / 2..=again + again / 2),
        };
        tokio::time::sleep(Duration::from_millis(millis)).await;
    }

    async fn shut_down(&self, broken: RequestAborted) {
        // If this worker should have started first, it will never get an answer.
        self.context.start_gate.open();
        if self.alive().is_err() {
            return;
        }
        let (reason, by) = match broken {
            RequestAborted::WorkerGone => return,
            RequestAborted::Silent(Silence::Gone(reason)) => {
                let by = match self.context.backend.was_killed(self.worker) {
                    true => EndedBy::Signal,
                    false => EndedBy::Itself,
                };
                (reason, by)
            }
            RequestAborted::Silent(Silence::BrokeProtocol(_)) => {
                ("it broke the adapter protocol".into(), EndedBy::Protocol)
            }
            RequestAborted::Silent(Silence::Hung { asked, within }) => (
                format!(
                    "no answer to `{asked}` within {:.1} s",
                    within.as_secs_f64()
                ),
                EndedBy::Deadline,
            ),
        };
        self.record_down(reason, by);
        // A worker that hangs is killed. If it has already ended, the kill fails, which does not
        // matter.
        self.context.backend.kill_worker(self.worker).await.ok();
    }

    /// Writes down that the worker is dead, and with it everybody who lives in its process.
    fn record_down(&self, reason: String, by: EndedBy) {
        let context = &self.context;
        if context.live_workers.mark_down(self.worker, false) {
            let workload = &context.spec.scenario.workload;
            let peers = workload.process_peers(self.worker);
            let peers = peers.filter(|mate| context.live_workers.mark_down(*mate, false));
            let shared = format!("it lived in the process of worker {}", self.worker);
            let peers = peers.map(|mate| (mate, shared.clone()));
            for (worker, reason) in std::iter::once((self.worker, reason)).chain(peers) {
                context.recorder.write(EventKind::WorkerDown {
                    worker,
                    by_fault: false,
                    reason,
                    ended_by: Some(by),
                });
            }
            // One client alone shows nothing. Of one that ends by itself the others have to get the lock.
            let left = context.live_workers.left();
            let is_over = left == 0 || by != EndedBy::Itself && left < 2;
            if workload.workers >= 2 && is_over {
                context.early_end.request(EndReason::TooFewClients);
            }
        }
    }
}
