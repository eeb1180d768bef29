//! One buyer: the loop that competes for the lock, the same code in every world.

use std::rc::Rc;
use std::time::Duration;

use picklock_scenarios::{EventKind, Phase, SoldOut};
use rand::RngExt;
use rand::rngs::StdRng;

use super::conversation::{Conversation, Silence};
use super::shelf::{self, Access};
use crate::adapter::message::{Answer, Ask, PROTOCOL};
use crate::entropy;
use crate::history::{Misbehaviour, What};
use crate::stage::{Happening, Introduction, Plan, Stage, millis};
use crate::world::{Refusal, World};

/// Beyond everything that the scenario itself makes a worker wait for, it may take so long to
/// answer before it counts as hung. Generous: a verdict must not depend on a busy machine.
pub(super) const GRACE: Duration = Duration::from_secs(5);

/// Workers start together, and each has to wait until the others have had the processors: so much
/// longer for each of them.
const START_EACH: Duration = Duration::from_millis(200);

fn crowd(plan: &Plan) -> u32 {
    u32::try_from(plan.scenario.workload.workers).unwrap_or(u32::MAX)
}

/// Why an attempt did not come to its end.
enum Broken {
    /// The nemesis killed the worker; that is in the history already.
    Struck,
    /// The worker went or hung by itself.
    Silent(Silence),
}

impl From<Silence> for Broken {
    fn from(silence: Silence) -> Self {
        Broken::Silent(silence)
    }
}

/// One buyer with its line to its worker.
pub struct Buyer<W> {
    stage: Rc<Stage<W>>,
    worker: usize,
    talk: Conversation,
    entropy: StdRng,
    /// Keys that this buyer has not yet seen sold out.
    open_keys: Vec<u32>,
    /// Units that it bought so far.
    bought: u32,
}

/// What a hold knows of itself.
struct Hold {
    op: u64,
    key: u32,
    token: String,
    fence: Option<u64>,
}

impl<W: World> Buyer<W> {
    /// Starts a worker and introduces the run to it.
    ///
    /// # Errors
    /// It could not be started, or did not say `ready`.
    pub async fn start(
        stage: &Rc<Stage<W>>,
        worker: usize,
        incarnation: u32,
    ) -> Result<Self, Refusal> {
        let plan = &stage.plan;
        let (session, nodes) = stage.world.start_worker(worker, incarnation).await?;
        let mut talk = Conversation::begin(stage, worker, session);
        let purpose = format!("worker {worker}");
        let init = Ask::Init {
            protocol: PROTOCOL,
            worker,
            nodes,
            timeout_ms: millis(plan.command_timeout()),
            seed: entropy::derive(plan.seed, &purpose, u64::from(incarnation)),
            options: plan.options.clone(),
        };
        let patience = GRACE + START_EACH * crowd(plan) + plan.longest_fault();
        match talk.ask(stage, 0, init, patience).await {
            Ok(Answer::Ready { name, version }) => {
                let introduction = Introduction::new(name, version);
                stage.introduction.set(Some(introduction));
            }
            Ok(Answer::Error { message, .. }) => {
                return Err(Refusal::Failed(format!(
                    "worker {worker} refused to begin: {message}"
                )));
            }
            Ok(other) => {
                return Err(Refusal::Failed(format!(
                    "worker {worker} answered `init` with {other:?}; expected `ready`"
                )));
            }
            Err(Silence::Gone(reason)) => {
                return Err(Refusal::Failed(format!(
                    "worker {worker} ended before it was ready: {reason}"
                )));
            }
            Err(Silence::Hung) => {
                return Err(Refusal::Failed(format!(
                    "worker {worker} did not answer `init`"
                )));
            }
        }
        stage.recorder.write(What::WorkerUp {
            worker,
            incarnation,
        });
        Ok(Buyer {
            stage: Rc::clone(stage),
            worker,
            talk,
            entropy: entropy::stream(
                plan.seed,
                &format!("buyer {worker}"),
                u64::from(incarnation),
            ),
            open_keys: (0..).take(plan.keys.len()).collect(),
            bought: 0,
        })
    }

    /// Buys until everything is sold out, the worker is gone for good, or the future is dropped.
    pub async fn run(mut self) {
        self.stage.door.enter(self.worker).await;
        loop {
            match self.shop().await {
                Ok(()) => return,
                Err(broken) => self.bury(broken).await,
            }
            let Some(incarnation) = self.stage.roster.revival(self.worker).await else {
                return;
            };
            match Buyer::start(&self.stage, self.worker, incarnation).await {
                Ok(fresh) => {
                    let bought = self.bought;
                    self = fresh;
                    self.bought = bought;
                }
                Err(refusal) => {
                    self.note_down(refusal.to_string());
                    return;
                }
            }
        }
    }

    async fn shop(&mut self) -> Result<(), Broken> {
        let stage = Rc::clone(&self.stage);
        let workload = &stage.plan.scenario.workload;
        loop {
            if workload.sold_out == SoldOut::Announced {
                let stock = stage.stock.borrow();
                self.open_keys.retain(|key| !stock.is_announced(*key));
            }
            let served = workload.purchases.is_some_and(|most| self.bought >= most);
            if self.open_keys.is_empty() || served {
                return Ok(());
            }
            let pick = self.entropy.random_range(0..self.open_keys.len());
            let key = self.open_keys[pick];
            match self.acquire(key).await? {
                Some(hold) => self.purchase(hold).await?,
                None => {
                    let pause = self.pause_after_refusal();
                    tokio::time::sleep(pause).await;
                }
            }
            let think = workload.think.resolve(self.stage.plan.ttl);
            if !think.is_zero() {
                tokio::time::sleep(think).await;
            }
        }
    }

    /// A lock that refuses at once must not make the buyer spin.
    fn pause_after_refusal(&mut self) -> Duration {
        let plan = &self.stage.plan;
        let again = plan.scenario.workload.again.resolve(plan.ttl);
        let millis = match u64::try_from(again.as_millis()).unwrap_or(u64::MAX / 2) {
            0 => self.entropy.random_range(5..20),
            again => self.entropy.random_range(again / 2..=again + again / 2),
        };
        Duration::from_millis(millis)
    }

    async fn acquire(&mut self, key: u32) -> Result<Option<Hold>, Broken> {
        let stage = Rc::clone(&self.stage);
        let (worker, plan) = (self.worker, &stage.plan);
        let wait = plan.scenario.workload.wait.resolve(plan.ttl);
        let op = stage.next_op();
        let ask = Ask::Acquire {
            key: plan.keys[key as usize].clone(),
            ttl_ms: plan.ttl_ms(),
            wait_ms: millis(wait),
        };
        self.write(What::Acquire {
            worker,
            op,
            key,
            ttl_ms: plan.ttl_ms(),
            wait_ms: millis(wait),
        })?;
        self.moment(EventKind::Acquire, None).await;
        stage.world.set_phase(worker, op, Phase::Acquire);
        let answer = self.talk.ask(&stage, op, ask, self.patience(wait)).await?;
        stage.world.set_phase(worker, op, Phase::Idle);
        stage.door.open();
        match answer {
            Answer::Granted {
                token,
                fence,
                valid_ms,
                elapsed_ms,
            } => {
                self.write(What::Granted {
                    worker,
                    op,
                    token: token.clone(),
                    fence,
                    valid_ms,
                    elapsed_ms,
                })?;
                self.moment(EventKind::Granted, None).await;
                return Ok(Some(Hold {
                    op,
                    key,
                    token,
                    fence,
                }));
            }
            Answer::Refused => self.write(What::Refused { worker, op })?,
            Answer::Error { message, definite } => self.write(What::AcquireFailed {
                worker,
                op,
                message,
                definite,
            })?,
            other => {
                self.out_of_turn("acquire", &other);
                self.write(What::AcquireFailed {
                    worker,
                    op,
                    message: format!("answered `acquire` with {other:?}"),
                    definite: false,
                })?;
            }
        }
        Ok(None)
    }

    /// The critical section. Between its steps the worker must answer a ping, so that a frozen
    /// worker really stops in the middle; the work itself is a wait, as for a payment service.
    async fn purchase(&mut self, hold: Hold) -> Result<(), Broken> {
        let section = self
            .stage
            .plan
            .scenario
            .workload
            .section
            .resolve(self.stage.plan.ttl);
        self.ping(&hold).await?;
        match self.read_stock(&hold).await? {
            Some(stock) if stock > 0 => {
                tokio::time::sleep(section).await;
                self.ping(&hold).await?;
                // A holder that was told of its loss in time must not touch the resource.
                if !self.talk.has_lost(hold.op) {
                    self.change_stock(&hold, stock).await?;
                    self.ping(&hold).await?;
                }
            }
            Some(_) => self.open_keys.retain(|key| *key != hold.key),
            None => {}
        }
        self.release(hold).await
    }

    async fn read_stock(&mut self, hold: &Hold) -> Result<Option<i64>, Broken> {
        let (worker, op, key) = (self.worker, hold.op, hold.key);
        match shelf::read(&self.stage, key, hold.fence).await {
            Access::Done(stock) => {
                self.write(What::StockRead {
                    worker,
                    op,
                    key,
                    stock,
                })?;
                self.moment(EventKind::StockRead, Some(stock)).await;
                if stock <= 0 {
                    self.stage.stock.borrow_mut().announce_sold_out(key);
                }
                Ok(Some(stock))
            }
            Access::Failed => Ok(None),
            Access::FencedOff(refused) => {
                self.write(What::FencedOff {
                    worker,
                    op,
                    key,
                    fence: refused.fence,
                    highest: refused.highest,
                })?;
                Ok(None)
            }
        }
    }

    async fn change_stock(&mut self, hold: &Hold, read: i64) -> Result<(), Broken> {
        let (worker, op, key) = (self.worker, hold.op, hold.key);
        match shelf::sell(&self.stage, key, read, hold.fence).await {
            Access::Done(change) => {
                self.bought += 1;
                self.write(What::StockChanged {
                    worker,
                    op,
                    key,
                    from: change.from,
                    to: change.to,
                })?;
                self.moment(EventKind::StockChanged, Some(change.to)).await;
            }
            Access::Failed => {}
            Access::FencedOff(refused) => self.write(What::FencedOff {
                worker,
                op,
                key,
                fence: refused.fence,
                highest: refused.highest,
            })?,
        }
        Ok(())
    }

    async fn release(&mut self, hold: Hold) -> Result<(), Broken> {
        let stage = Rc::clone(&self.stage);
        let (worker, op) = (self.worker, hold.op);
        self.write(What::Release { worker, op })?;
        self.moment(EventKind::Release, None).await;
        stage.world.set_phase(worker, op, Phase::Release);
        let ask = Ask::Release {
            key: stage.plan.keys[hold.key as usize].clone(),
            token: hold.token,
        };
        let answer = self
            .talk
            .ask(&stage, op, ask, self.patience(Duration::ZERO))
            .await?;
        stage.world.set_phase(worker, op, Phase::Idle);
        match answer {
            Answer::Released { released } => self.write(What::Released {
                worker,
                op,
                released,
                last_command_ns: stage
                    .world
                    .last_command_ns(worker, op, Phase::Release, hold.key),
            }),
            Answer::Error { message, definite } => self.write(What::ReleaseFailed {
                worker,
                op,
                message,
                definite,
            }),
            other => {
                self.out_of_turn("release", &other);
                self.write(What::ReleaseFailed {
                    worker,
                    op,
                    message: format!("answered `release` with {other:?}"),
                    definite: false,
                })
            }
        }
    }

    async fn ping(&mut self, hold: &Hold) -> Result<(), Broken> {
        let stage = Rc::clone(&self.stage);
        let answer = self
            .talk
            .ask(&stage, hold.op, Ask::Ping, self.patience(Duration::ZERO))
            .await?;
        if answer != Answer::Pong {
            self.out_of_turn("ping", &answer);
        }
        Ok(())
    }

    fn patience(&self, wait: Duration) -> Duration {
        let plan = &self.stage.plan;
        wait + plan.command_timeout() * 2 + plan.longest_fault() + GRACE
    }

    async fn moment(&self, kind: EventKind, stock: Option<i64>) {
        let happening = Happening {
            kind,
            worker: self.worker,
            stock,
        };
        if let Some(gate) = self.stage.moments.happened(happening) {
            gate.await;
        }
    }

    /// Writes an event of this worker, unless the nemesis has killed it meanwhile: whatever was
    /// still in the pipe came from a dead man.
    fn write(&self, what: What) -> Result<(), Broken> {
        self.alive()?;
        self.stage.recorder.write(what);
        Ok(())
    }

    fn alive(&self) -> Result<(), Broken> {
        if self.stage.roster.is_down(self.worker) {
            return Err(Broken::Struck);
        }
        Ok(())
    }

    fn out_of_turn(&self, asked: &str, answer: &Answer) {
        self.stage.recorder.write(What::Misbehaved {
            worker: self.worker,
            kind: Misbehaviour::OutOfTurn,
            detail: format!("answered `{asked}` with {answer:?}"),
        });
    }

    async fn bury(&self, broken: Broken) {
        // Whoever was to come first will not be answered any more.
        self.stage.door.open();
        let reason = match broken {
            Broken::Struck => return,
            Broken::Silent(Silence::Gone(reason)) => reason,
            Broken::Silent(Silence::Hung) => "killed because it hung".to_owned(),
        };
        self.note_down(reason);
        // A worker that hangs is killed; one that is gone cannot be, and that is all right.
        self.stage.world.kill_worker(self.worker).await.ok();
    }

    fn note_down(&self, reason: String) {
        if self.stage.roster.mark_down(self.worker, false) {
            self.stage.recorder.write(What::WorkerDown {
                worker: self.worker,
                by_fault: false,
                reason,
            });
        }
    }
}
