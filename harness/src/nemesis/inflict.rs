//! What each kind of fault asks of the world.

use picklock_scenarios::{FaultKind, FaultPlan, Span};

use super::clocks::Whose;
use super::strike::Nemesis;
use super::target::Target;
use super::undo::Undo;
use crate::history::{ClockShift, What};
use crate::stage::Site;
use crate::wire::{Effect, LinkFault};
use crate::world::{Refusal, Tampering, World};

impl<W: World> Nemesis<W> {
    pub(super) async fn begin(
        &self,
        id: u32,
        plan: &FaultPlan,
        target: &Target,
        site: Site,
    ) -> Result<Undo, Refusal> {
        let world = &self.stage.world;
        let Target { workers, nodes } = target.clone();
        match plan.kind {
            FaultKind::PauseClient => {
                for worker in &workers {
                    world.freeze_worker(*worker).await?;
                }
                Ok(Undo::Thaw(workers))
            }
            FaultKind::CrashClient => {
                for worker in &workers {
                    self.crash_client(*worker, plan.duration.is_some()).await?;
                }
                Ok(when_over(plan, Undo::Revive(workers)))
            }
            FaultKind::PauseNode => {
                for node in &nodes {
                    world.pause_node(*node).await?;
                }
                Ok(Undo::Resume(nodes))
            }
            FaultKind::CrashNode => {
                for node in &nodes {
                    world.crash_node(*node).await?;
                }
                Ok(when_over(plan, Undo::Restart(nodes)))
            }
            FaultKind::CutReplication => {
                for node in &nodes {
                    world.cut_replication(*node).await?;
                }
                Ok(Undo::Nothing)
            }
            FaultKind::Failover => {
                for node in &nodes {
                    world.fail_over(*node).await?;
                    self.clocks.replaced(*node);
                }
                Ok(Undo::Nothing)
            }
            FaultKind::Evict => self.evict(plan, &nodes).await,
            FaultKind::FlushAll => self.tamper(&nodes, Tampering::FlushAll).await,
            FaultKind::FlushScripts => self.tamper(&nodes, Tampering::FlushScripts).await,
            FaultKind::Exhaust => self.exhaust(plan, nodes).await,
            FaultKind::ClockJump | FaultKind::ClockSkew => {
                self.shift_clocks(id, plan, target).await
            }
            // Struck in a way of its own, with more than one line in the history.
            FaultKind::SentinelFailover => Ok(Undo::Nothing),
            FaultKind::Cut => {
                world.cut(Some(&workers), Some(&nodes));
                Ok(Undo::Nothing)
            }
            FaultKind::Delay | FaultKind::Drop | FaultKind::Hold | FaultKind::Partition => {
                let fault = self.link_fault(plan, workers, nodes, site);
                Ok(Undo::Lift(world.impose(fault)))
            }
        }
    }

    async fn tamper(&self, nodes: &[usize], tampering: Tampering) -> Result<Undo, Refusal> {
        for node in nodes {
            self.stage.world.tamper(*node, &tampering).await?;
        }
        Ok(Undo::Nothing)
    }

    /// Where none of the keys is there nothing was evicted, and the fault never struck.
    async fn evict(&self, plan: &FaultPlan, nodes: &[usize]) -> Result<Undo, Refusal> {
        let all = &self.stage.plan.keys;
        let keys = match &plan.keys {
            None => all.clone(),
            Some(chosen) => chosen
                .iter()
                .filter_map(|key| all.get(*key).cloned())
                .collect(),
        };
        let eviction = Tampering::Evict(keys);
        let mut removed = 0;
        for node in nodes {
            removed += self.stage.world.tamper(*node, &eviction).await?;
        }
        if removed == 0 {
            let reason = "no lock was held: there was no key to evict";
            return Err(Refusal::Failed(reason.into()));
        }
        Ok(Undo::Nothing)
    }

    /// Where one node refuses, those that came before it get back what they need.
    async fn exhaust(&self, plan: &FaultPlan, nodes: Vec<usize>) -> Result<Undo, Refusal> {
        let Some(resource) = plan.what else {
            return Err(Refusal::Failed("`exhaust` needs `what`".into()));
        };
        for (index, node) in nodes.iter().enumerate() {
            let exhaustion = Tampering::Exhaust(resource);
            if let Err(refusal) = self.stage.world.tamper(*node, &exhaustion).await {
                let struck = nodes[..index].to_vec();
                self.undo(Undo::Replenish(struck, resource)).await;
                return Err(refusal);
            }
        }
        Ok(Undo::Replenish(nodes, resource))
    }

    /// What a fault of clocks does to them.
    pub(super) fn clock_shift(&self, plan: &FaultPlan) -> Option<ClockShift> {
        plan.kind.is_of_a_clock().then(|| ClockShift {
            by_ns: plan.by.map_or(0, |by| by.resolve_ns(self.stage.plan.ttl)),
            for_good: plan.duration.is_none(),
        })
    }

    /// Where one clock cannot be shifted, those that came before it are put right.
    async fn shift_clocks(
        &self,
        id: u32,
        plan: &FaultPlan,
        target: &Target,
    ) -> Result<Undo, Refusal> {
        let by_ns = self.clock_shift(plan).map_or(0, |shift| shift.by_ns);
        let workers = target.workers.iter().copied().map(Whose::Worker);
        let nodes = target.nodes.iter().copied().map(Whose::Node);
        let all: Vec<Whose> = workers.chain(nodes).collect();
        let world = &*self.stage.world;
        for (done, whose) in all.iter().enumerate() {
            if let Err(refusal) = self.clocks.shift(world, *whose, id, by_ns).await {
                for whose in &all[..done] {
                    self.clocks.put_right(world, *whose, id).await;
                }
                return Err(refusal);
            }
        }
        Ok(when_over(plan, Undo::PutRight(id, all)))
    }

    /// The kill is written down before it is done: a hold must never be longer than it was.
    async fn crash_client(&self, worker: usize, comes_back: bool) -> Result<(), Refusal> {
        if !self.stage.roster.mark_down(worker, comes_back) {
            return Err(Refusal::Failed(format!("worker {worker} was dead already")));
        }
        self.stage.recorder.write(What::WorkerDown {
            worker,
            by_fault: true,
            reason: "killed by the nemesis".into(),
        });
        self.stage.world.kill_worker(worker).await
    }

    fn link_fault(
        &self,
        plan: &FaultPlan,
        workers: Vec<usize>,
        nodes: Vec<usize>,
        site: Site,
    ) -> LinkFault {
        // A counted fault that a frame set off strikes that frame first, whatever else passes.
        let frame = site.frame.filter(|_| plan.frames.is_some());
        let ttl = self.stage.plan.ttl;
        let length = |span: Option<Span>| span.map(|span| span.resolve(ttl)).unwrap_or_default();
        let effect = match plan.kind {
            FaultKind::Delay => Effect::Delay {
                by: length(plan.by.map(|by| by.span)),
                jitter: length(plan.jitter),
            },
            FaultKind::Drop => Effect::Drop,
            FaultKind::Hold => Effect::Hold,
            _ => Effect::Partition,
        };
        LinkFault {
            workers: Some(workers),
            nodes: Some(nodes),
            conn: frame.map(|(conn, _)| conn),
            direction: plan.direction.or(frame.map(|(_, direction)| direction)),
            effect,
            frames: plan.frames,
        }
    }
}

/// What is undone when the fault is over, if it ever is.
fn when_over(plan: &FaultPlan, undo: Undo) -> Undo {
    match plan.duration {
        Some(_) => undo,
        None => Undo::Nothing,
    }
}
