//! One buyer: the loop that competes for the lock, the same code in every world.

use std::rc::Rc;
use std::time::Duration;

use picklock_scenarios::SoldOut;
use rand::RngExt;
use rand::rngs::StdRng;

use super::conversation::{Conversation, Silence};
use crate::history::What;
use crate::stage::Stage;
use crate::world::World;

/// Beyond everything that the scenario itself makes a worker wait for, it may take so long to
/// answer before it counts as hung. Generous: a verdict must not depend on a busy machine.
pub(super) const GRACE: Duration = Duration::from_secs(5);

/// Why an attempt did not come to its end.
pub(super) enum Broken {
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
    pub(super) stage: Rc<Stage<W>>,
    pub(super) worker: usize,
    /// Which of the worker's lives this is.
    pub(super) incarnation: u32,
    pub(super) talk: Conversation,
    pub(super) entropy: StdRng,
    /// Keys that this buyer has not yet seen sold out.
    pub(super) open_keys: Vec<u32>,
    /// Units that it bought so far.
    pub(super) bought: u32,
}

/// One purchase to be made.
#[derive(Debug, Clone, Copy)]
pub(super) struct Errand {
    /// Of which lock's stock.
    pub(super) key: u32,
    /// In an open loop: when whoever wants it came, nanoseconds since the run began.
    pub(super) intended_ns: Option<u64>,
}

/// What a hold knows of itself.
pub(super) struct Hold {
    pub(super) op: u64,
    pub(super) key: u32,
    pub(super) token: String,
    pub(super) fence: Option<u64>,
}

impl<W: World> Buyer<W> {
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
        let think = stage.plan.scenario.workload.think.resolve(stage.plan.ttl);
        while let Some(errand) = self.errand().await? {
            match stage.arrivals {
                Some(_) => self.serve(errand).await?,
                None => self.buy(errand).await?,
            }
            if !think.is_zero() {
                tokio::time::sleep(think).await;
            }
        }
        Ok(())
    }

    /// What is to be bought next; `None`: nothing any more. In an open loop it waits for somebody
    /// who wants it.
    async fn errand(&mut self) -> Result<Option<Errand>, Broken> {
        let stage = Rc::clone(&self.stage);
        let Some(arrivals) = &stage.arrivals else {
            return Ok(self.pick().map(|key| Errand {
                key,
                intended_ns: None,
            }));
        };
        let turn = tokio::select! {
            biased;
            () = stage.roster.death(self.worker, self.incarnation) => return Err(Broken::Struck),
            turn = arrivals.turn() => turn,
        };
        // Who finds everything sold out leaves the buyer in the line: he was not served.
        let Some(key) = self.pick() else {
            return Ok(None);
        };
        Ok(arrivals.take(turn).map(|intended_ns| Errand {
            key,
            intended_ns: Some(intended_ns),
        }))
    }

    /// A lock whose stock may not be sold out; `None`: there is none, or this buyer has enough.
    fn pick(&mut self) -> Option<u32> {
        self.heed_the_sign();
        let most = self.stage.plan.scenario.workload.purchases;
        let served = most.is_some_and(|most| self.bought >= most);
        if self.open_keys.is_empty() || served {
            return None;
        }
        let pick = self.entropy.random_range(0..self.open_keys.len());
        Some(self.open_keys[pick])
    }

    /// Where it is announced that a key is sold out, nobody asks for it any more.
    fn heed_the_sign(&mut self) {
        if self.stage.plan.scenario.workload.sold_out == SoldOut::Announced {
            let stock = self.stage.stock.borrow();
            self.open_keys.retain(|key| !stock.is_announced(*key));
        }
    }

    /// One attempt of a closed loop.
    async fn buy(&mut self, errand: Errand) -> Result<(), Broken> {
        match self.acquire(errand).await? {
            Some(hold) => self.purchase(hold).await?,
            None => {
                let pause = self.pause_after_refusal();
                tokio::time::sleep(pause).await;
            }
        }
        Ok(())
    }

    /// Somebody of an open loop. Refused, or failed, he goes away; with `again` he asks until he
    /// gets the lock or reads the sign that all is sold.
    async fn serve(&mut self, errand: Errand) -> Result<(), Broken> {
        let plan = &self.stage.plan;
        let stays = !plan.scenario.workload.again.resolve(plan.ttl).is_zero();
        while self.open_keys.contains(&errand.key) {
            if let Some(hold) = self.acquire(errand).await? {
                return self.purchase(hold).await;
            }
            if !stays {
                return Ok(());
            }
            let pause = self.pause_after_refusal();
            tokio::time::sleep(pause).await;
            self.heed_the_sign();
        }
        Ok(())
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

    async fn bury(&self, broken: Broken) {
        // Whoever was to come first will not be answered any more.
        self.stage.door.open();
        if self.stage.roster.is_over(self.worker, self.incarnation) {
            return;
        }
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
