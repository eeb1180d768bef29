//! The nemesis: strikes when a moment comes, and takes back what lasts only for a while.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use picklock_scenarios::{FaultKind, FaultPlan};
use tokio::sync::{mpsc, oneshot};

use super::clocks::Clocks;
use super::describe::describe;
use super::target::{self, Target};
use super::undo::Undo;
use crate::history::What;
use crate::stage::{Site, Stage, Strike};
use crate::world::World;

/// How often it is looked whether a fault for so many frames is used up. The faults do not wait
/// for it: it only says in the history since when they are over.
const LOOK: Duration = Duration::from_millis(5);

/// The part of a run that makes things go wrong.
pub struct Nemesis<W> {
    pub(super) stage: Rc<Stage<W>>,
    ongoing: RefCell<Vec<(u32, Undo)>>,
    next_id: Cell<u32>,
    pub(super) clocks: Clocks,
    /// Plans with a time whose time has come.
    begun: RefCell<Vec<usize>>,
}

impl<W: World> Nemesis<W> {
    /// A nemesis that has done nothing yet.
    pub fn new(stage: &Rc<Stage<W>>) -> Rc<Self> {
        Rc::new(Nemesis {
            stage: Rc::clone(stage),
            ongoing: RefCell::default(),
            next_id: Cell::new(0),
            clocks: Clocks::default(),
            begun: RefCell::default(),
        })
    }

    /// Strikes whenever a time or a moment comes; never ends by itself. Dropping the future stops
    /// new strikes; [`Nemesis::rest`] ends those that last. `open` is told when everything has
    /// struck that is meant to be there from the beginning, before the first buyer comes.
    pub async fn haunt(
        self: Rc<Self>,
        mut due: mpsc::UnboundedReceiver<Strike>,
        open: oneshot::Sender<()>,
    ) {
        let mut strikes = tokio::task::JoinSet::new();
        let mut at_once = Vec::new();
        for (index, plan) in self.plans().iter().enumerate() {
            let Some(at) = plan.at else { continue };
            let at = at.resolve(self.stage.plan.ttl);
            let (struck, has_struck) = oneshot::channel();
            if at.is_zero() {
                at_once.push(has_struck);
            }
            let nemesis = Rc::clone(&self);
            strikes.spawn_local(async move {
                if !at.is_zero() {
                    tokio::time::sleep(at).await;
                }
                nemesis.begun.borrow_mut().push(index);
                let nowhere = Site {
                    worker: None,
                    node: None,
                    frame: None,
                };
                // Nobody waits for those that come later.
                let struck = || struck.send(()).unwrap_or_default();
                nemesis.strike(index, nowhere, struck).await;
            });
        }
        for struck in at_once {
            // A strike that ended without a word has failed, and that is in the history.
            struck.await.unwrap_or_default();
        }
        open.send(()).unwrap_or_default();
        while let Some(strike) = due.recv().await {
            let nemesis = Rc::clone(&self);
            strikes.spawn_local(async move {
                let struck = strike.struck;
                // The gate may be gone with its connection.
                nemesis
                    .strike(strike.plan, strike.site, || {
                        struck.send(()).unwrap_or_default()
                    })
                    .await;
            });
        }
        std::future::pending::<()>().await;
    }

    /// Ends every fault that still lasts, and notes the planned ones that never struck.
    pub async fn rest(&self) {
        loop {
            let next = self.ongoing.borrow_mut().pop();
            let Some((id, undo)) = next else { break };
            self.undo(undo).await;
            self.stage.recorder.write(What::FaultEnded { id });
        }
        let begun = self.begun.borrow().clone();
        let timed = self.plans().iter().enumerate();
        let too_late = timed.filter(|(index, plan)| plan.at.is_some() && !begun.contains(index));
        for (index, _) in too_late {
            self.missed(index, "the run ended before its time came");
        }
        for index in self.stage.moments.never_came() {
            self.missed(index, "its moment never came");
        }
    }

    async fn strike(&self, index: usize, site: Site, struck: impl FnOnce()) {
        let plan = self.plans()[index].clone();
        let target = self.target(&plan, site);
        if plan.kind == FaultKind::SentinelFailover {
            return self.sentinel_failover(index, target.nodes, struck).await;
        }
        let id = self.fresh_id();
        let lasts = plan.duration.map(|span| span.resolve(self.stage.plan.ttl));
        self.stage.recorder.write(What::FaultBegan {
            id,
            fault: plan.kind.word().to_owned(),
            detail: describe(&plan, &target, self.stage.plan.ttl),
            workers: target.workers.clone(),
            nodes: target.nodes.clone(),
            clock: self.clock_shift(&plan),
        });
        match self.begin(id, &plan, &target, site).await {
            Ok(undo) => self.ongoing.borrow_mut().push((id, undo)),
            Err(refusal) => {
                self.stage.recorder.write(What::FaultEnded { id });
                self.missed(index, &refusal.to_string());
                struck();
                return;
            }
        }
        struck();
        if plan.when.is_some() {
            self.stage.door.open();
        }
        let lasts = match plan.kind {
            FaultKind::Cut
            | FaultKind::Failover
            | FaultKind::Evict
            | FaultKind::FlushAll
            | FaultKind::FlushScripts => Some(Duration::ZERO),
            // A leap is over at once; a clock that is to leap back is wrong until then.
            FaultKind::ClockJump if lasts.is_none() => Some(Duration::ZERO),
            // What is held is let go when the fault ends: without a time, never.
            FaultKind::Hold if lasts.is_none() => return,
            _ => lasts,
        };
        match (lasts, plan.frames) {
            (Some(lasts), _) => tokio::time::sleep(lasts).await,
            // A fault for so many frames is over when it has struck them.
            (None, Some(frames)) => self.used_up(id, frames).await,
            (None, None) => return,
        }
        self.end(id).await;
    }

    /// Waits until a fault has struck as many frames as it was meant for. One that keeps frames
    /// back for good is never over.
    async fn used_up(&self, id: u32, frames: u32) {
        let imposed = {
            let ongoing = self.ongoing.borrow();
            ongoing.iter().find_map(|(one, undo)| match undo {
                Undo::Lift(imposed) if *one == id => Some(*imposed),
                _ => None,
            })
        };
        let Some(imposed) = imposed else { return };
        while self.stage.world.struck(imposed) < u64::from(frames) {
            tokio::time::sleep(LOOK).await;
        }
    }

    pub(super) fn fresh_id(&self) -> u32 {
        let id = self.next_id.get();
        self.next_id.set(id + 1);
        id
    }

    /// From here on [`Nemesis::end`] and [`Nemesis::rest`] know the fault.
    pub(super) fn lasts(&self, id: u32, undo: Undo) {
        self.ongoing.borrow_mut().push((id, undo));
    }

    pub(super) async fn end(&self, id: u32) {
        let find = |ongoing: &[(u32, Undo)]| ongoing.iter().position(|(one, _)| *one == id);
        let undo = {
            let ongoing = self.ongoing.borrow();
            find(&ongoing).map(|position| ongoing[position].1.clone())
        };
        // Whoever ended the run may have ended the fault before us.
        let Some(undo) = undo else { return };
        // Struck off the list only afterwards: should the run end right now, `rest` does it again
        // rather than not at all.
        self.undo(undo).await;
        let still_listed = find(&self.ongoing.borrow());
        if let Some(position) = still_listed {
            self.ongoing.borrow_mut().remove(position);
            self.stage.recorder.write(What::FaultEnded { id });
        }
    }

    pub(super) fn missed(&self, index: usize, reason: &str) {
        let plan = &self.plans()[index];
        self.stage.recorder.write(What::FaultMissed {
            fault: plan.kind.word().to_owned(),
            reason: reason.to_owned(),
            optional: plan.optional,
        });
    }

    fn target(&self, plan: &FaultPlan, site: Site) -> Target {
        let workers = self.stage.plan.scenario.workload.workers;
        let nodes = self.stage.plan.nodes;
        match plan.kind {
            kind if kind.is_of_a_client() => {
                let mut target = target::of_client_or_node(plan, site, workers, nodes);
                target.nodes.clear();
                target
            }
            kind if kind.is_of_a_node() => {
                let mut target = target::of_client_or_node(plan, site, workers, nodes);
                target.workers.clear();
                target
            }
            _ => target::of_links(plan, site, workers, nodes),
        }
    }

    pub(super) fn plans(&self) -> &[FaultPlan] {
        &self.stage.plan.scenario.faults
    }
}
