//! Applies the actions of a fault to all of its targets.

use std::collections::BTreeSet;
use std::time::Duration;

use picklock_scenarios::{
    Action, DataAction, Direction, FaultPlan, LeaseDuration, LinkAction, NodeAction, Phase,
    StockFault, Target, TaskScope, WorkerAction,
};

use super::active_faults::Undo;
use super::clocks::ClockOwner;
use super::schedule::Nemesis;
use crate::backend::{Backend, DataChange, Refusal};
use crate::clock::nanos;
use crate::context::{Location, OldStock};
use crate::history::EventKind;
use crate::proxy::{Effect, LinkFault};

impl<B: Backend> Nemesis<B> {
    /// Applies all actions of a fault, and records an undo step after each. If the backend refuses an action, the
    /// caller ends the fault, which undoes the earlier actions.
    pub(super) async fn apply(
        &self,
        fault: u32,
        plan: &FaultPlan,
        target: &Target,
        location: Location,
    ) -> Result<(), Refusal> {
        let actions = plan.actions().ok_or_else(|| {
            let word = plan.kind.as_str();
            Refusal::Failed(format!("a field of `{word}` is missing"))
        })?;
        for action in actions {
            match action {
                Action::Worker(action) => {
                    for worker in self.one_per_process(action, &target.workers) {
                        let lasts = plan.duration.unwrap_or(LeaseDuration::ZERO);
                        let lasts = lasts.resolve(self.context.spec.ttl());
                        self.apply_to_worker(fault, action, worker, lasts).await?;
                    }
                }
                Action::Node(action) => {
                    for node in &target.nodes {
                        self.apply_to_node(fault, action, *node).await?;
                    }
                }
                Action::Data(action) => self.apply_to_data(fault, &action, &target.nodes).await?,
                Action::Link(action) => {
                    self.apply_to_links(fault, action, plan, target, location)?;
                }
                Action::ShiftClocks(by) => {
                    let by_ns = by.resolve_ns(self.context.spec.ttl());
                    let workers = target.workers.iter().copied().map(ClockOwner::Worker);
                    let nodes = target.nodes.iter().copied().map(ClockOwner::Node);
                    for clock in workers.chain(nodes) {
                        let backend = &*self.context.backend;
                        self.clocks.shift(backend, clock, fault, by_ns).await?;
                        self.active_faults.record(fault, Undo::ResetClock(clock));
                    }
                }
                Action::Stock(stock_fault) => {
                    for worker in &target.workers {
                        self.apply_to_stock(fault, stock_fault, *worker);
                    }
                }
            }
        }
        Ok(())
    }

    /// Returns one worker per process, or all workers if the action affects a single thread.
    fn one_per_process(&self, action: WorkerAction, workers: &[usize]) -> Vec<usize> {
        let workload = &self.context.spec.scenario.workload;
        let mut processes = BTreeSet::new();
        let is_first = |worker: &&usize| {
            action == WorkerAction::Block(TaskScope::Thread)
                || processes.insert(workload.process_of(**worker))
        };
        workers.iter().filter(is_first).copied().collect()
    }

    async fn apply_to_worker(
        &self,
        fault: u32,
        action: WorkerAction,
        worker: usize,
        lasts: Duration,
    ) -> Result<(), Refusal> {
        let backend = &self.context.backend;
        match action {
            WorkerAction::Freeze => {
                backend.freeze_worker(worker).await?;
                self.active_faults.record(fault, Undo::ThawWorker(worker));
                self.expect_no_traffic_from(fault, worker).await;
            }
            WorkerAction::Kill => {
                self.record_end(fault, worker, "killed by the nemesis")?;
                self.context.backend.kill_worker(worker).await?;
                self.expect_no_traffic_from(fault, worker).await;
            }
            WorkerAction::Terminate => {
                self.record_end(fault, worker, "terminated by the nemesis")?;
                // Commands that the process sends during its clean-up do not belong to a request.
                for mate in self.process_peers(worker) {
                    let op = self.context.live_workers.latest_op(mate);
                    self.context.backend.set_phase(mate, op, Phase::Idle);
                }
                self.context.backend.terminate_worker(worker).await?;
            }
            WorkerAction::Block(scope) => {
                let since_ns = self.context.clock.now_ns();
                backend.block_worker(worker, scope, lasts).await?;
                let step = Undo::UnblockWorker {
                    worker,
                    scope,
                    due_ns: since_ns.saturating_add(nanos(lasts)),
                };
                self.active_faults.record(fault, step);
            }
        }
        Ok(())
    }

    /// Waits until the terminated processes have ended, for at most `grace`. Then kills the processes that are left.
    pub(super) async fn end_terminated(&self, fault: u32, workers: &[usize], grace: Duration) {
        let backend = &self.context.backend;
        let due = tokio::time::sleep(grace);
        let processes = self.one_per_process(WorkerAction::Terminate, workers);
        let all_ended = async {
            for worker in &processes {
                backend.until_worker_ended(*worker).await;
            }
        };
        tokio::select! {
            biased;
            () = all_ended => {}
            () = due => {}
        }
        for worker in processes {
            // If this fails, another fault has killed the worker.
            backend.kill_worker(worker).await.ok();
            self.expect_no_traffic_from(fault, worker).await;
        }
    }

    /// Records the end of a process's clients before they end, so that a hold is never recorded as longer than it was.
    fn record_end(&self, fault: u32, worker: usize, reason: &str) -> Result<(), Refusal> {
        let peers = self.process_peers(worker);
        let mut living = peers.filter(|mate| self.context.live_workers.mark_down(*mate, true));
        let Some(first) = living.next() else {
            return Err(Refusal::Failed(format!("client {worker} was already dead")));
        };
        for mate in std::iter::once(first).chain(living) {
            self.active_faults.record(fault, Undo::RestartWorker(mate));
            self.context.recorder.write(EventKind::WorkerDown {
                worker: mate,
                by_fault: true,
                reason: reason.into(),
                ended_by: None,
            });
        }
        Ok(())
    }

    /// Begins to watch the worker's process, which must not send data from now on.
    async fn expect_no_traffic_from(&self, fault: u32, worker: usize) {
        for mate in self.process_peers(worker) {
            self.frozen_workers.begin(&self.context, fault, mate).await;
        }
    }

    pub(super) fn process_peers(&self, worker: usize) -> impl Iterator<Item = usize> + use<B> {
        self.context.spec.scenario.workload.process_peers(worker)
    }

    async fn apply_to_node(
        &self,
        fault: u32,
        action: NodeAction,
        node: usize,
    ) -> Result<(), Refusal> {
        let backend = &self.context.backend;
        match action {
            NodeAction::Pause => {
                backend.pause_node(node).await?;
                self.active_faults.record(fault, Undo::ResumeNode(node));
            }
            NodeAction::Crash => {
                backend.crash_node(node).await?;
                self.active_faults.record(fault, Undo::RestartNode(node));
            }
            NodeAction::CutReplication => backend.cut_replication(node).await?,
            NodeAction::FailOver => {
                backend.fail_over(node).await?;
                self.clocks.forget_node(node);
            }
            // The schedule handles this action separately.
            NodeAction::FailOverBySentinels => {}
        }
        Ok(())
    }

    fn apply_to_links(
        &self,
        fault: u32,
        action: LinkAction,
        plan: &FaultPlan,
        target: &Target,
        location: Location,
    ) -> Result<(), Refusal> {
        let backend = &self.context.backend;
        let ttl = self.context.spec.ttl();
        let effect = match action {
            LinkAction::Reset => {
                let reason = "none of the connections was open";
                return match backend.cut(Some(&target.workers), Some(&target.nodes)) {
                    0 => Err(Refusal::Failed(reason.into())),
                    _ => Ok(()),
                };
            }
            LinkAction::Delay { by, jitter } => Effect::Delay {
                by: by.resolve(ttl),
                jitter: jitter.resolve(ttl),
            },
            LinkAction::Drop => Effect::Drop,
            LinkAction::Answer { error, .. } => Effect::Answer(error),
            LinkAction::Hold => Effect::Hold,
            LinkAction::Partition => Effect::Partition,
        };
        // If a fault has a frame limit and its trigger is a frame, the fault first affects that frame, whatever other
        // frames pass.
        let frame = location.frame.filter(|_| plan.frames.is_some());
        // The direction in which the answer is imposed decides whether the server receives the command.
        let direction = match action {
            LinkAction::Answer { executed: true, .. } => Some(Direction::Reply),
            LinkAction::Answer { .. } => Some(Direction::Request),
            _ => plan.direction.or(frame.map(|(_, direction)| direction)),
        };
        let imposed = backend.impose(LinkFault {
            workers: Some(target.workers.clone()),
            nodes: Some(target.nodes.clone()),
            conn: frame.map(|(conn, _)| conn),
            direction,
            effect,
            frames: plan.frames,
        });
        self.active_faults.record(fault, Undo::Lift(imposed));
        Ok(())
    }

    fn apply_to_stock(&self, fault: u32, stock_fault: StockFault, worker: usize) {
        let context = &self.context;
        let old = OldStock {
            as_of_ns: context.clock.now_ns(),
            left: context.stock.borrow().remaining(),
        };
        context.stock_faults.impose(worker, stock_fault, old);
        self.active_faults
            .record(fault, Undo::LiftStock(worker, stock_fault));
    }

    async fn apply_to_data(
        &self,
        fault: u32,
        action: &DataAction,
        nodes: &[usize],
    ) -> Result<(), Refusal> {
        let change = match action {
            DataAction::Evict(keys) => DataChange::Evict(self.key_names(keys.as_deref())),
            DataAction::FlushAll => DataChange::FlushAll,
            DataAction::FlushScripts => DataChange::FlushScripts,
            DataAction::Exhaust(resource) => DataChange::Exhaust(*resource),
        };
        let mut evicted = 0;
        for node in nodes {
            evicted += self.context.backend.change_data(*node, &change).await?;
            if let DataChange::Exhaust(resource) = change {
                let step = Undo::Replenish(*node, resource);
                self.active_faults.record(fault, step);
            }
        }
        // If none of the keys exists, the fault has affected nothing.
        if matches!(change, DataChange::Evict(_)) && evicted == 0 {
            let reason = "there was no key to evict: the lock was free, or its key is in another database or has \
                          a name that is not text";
            return Err(Refusal::Failed(reason.into()));
        }
        Ok(())
    }

    /// Returns the names of the keys with these numbers, or all names if `numbers` is `None`.
    fn key_names(&self, numbers: Option<&[usize]>) -> Vec<String> {
        let all = self.context.spec.keys();
        match numbers {
            None => all,
            Some(numbers) => {
                let named = numbers.iter().filter_map(|key| all.get(*key).cloned());
                named.collect()
            }
        }
    }
}
