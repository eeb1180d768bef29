//! Executes the undo steps of a fault.

use std::time::Duration;

use picklock_scenarios::TaskScope;
use tokio::time::timeout_at;

use super::active_faults::Undo;
use super::schedule::Nemesis;
use crate::backend::{Backend, DataChange, Refusal};
use crate::clock::nanos;
use crate::history::EventKind;

/// How late a worker may report that it is no longer blocked, in addition to all waits that the scenario causes. Other
/// answers may be equally late.
const GRACE: Duration = Duration::from_secs(5);

/// How much earlier than requested a task may continue, because timers are not more precise.
const TIMER_TOLERANCE_NS: u64 = 5_000_000;

impl<B: Backend> Nemesis<B> {
    pub(super) async fn undo(&self, fault: u32, step: Undo) {
        let backend = &self.context.backend;
        let (what, undone) = match step {
            // A worker or node that died in the meantime cannot be resumed. Its death is in the history.
            Undo::ThawWorker(worker) => {
                // If another fault has also frozen the worker, it stays frozen until that fault ends.
                let mut is_free = true;
                for mate in self.process_peers(worker) {
                    is_free &= self.frozen_workers.end(&self.context, fault, mate);
                }
                if !is_free {
                    return;
                }
                let thawed = backend.thaw_worker(worker).await;
                (format!("thaw of client {worker}"), thawed)
            }
            Undo::UnblockWorker {
                worker,
                scope,
                due_ns,
            } => {
                let unblocked = self.wait_until_unblocked(worker, scope, due_ns).await;
                let blocked =
                    unblocked.map(|at_ns| self.check_block_duration(fault, worker, at_ns, due_ns));
                (format!("block of client {worker}"), blocked)
            }
            Undo::ResumeNode(node) => {
                // If another fault has also paused the node, it stays paused until that fault ends.
                if self.active_faults.leaves_paused(fault, node) {
                    return;
                }
                let resumed = backend.resume_node(node).await;
                (format!("thaw of node {node}"), resumed)
            }
            Undo::RestartWorker(worker) => {
                self.frozen_workers.end_for_restart(&self.context, worker);
                return self.context.live_workers.allow_restart(worker);
            }
            Undo::RestartNode(node) => {
                let restarted = backend.restart_node(node).await;
                (format!("restart of node {node}"), restarted)
            }
            Undo::Replenish(node, resource) => {
                let change = DataChange::Replenish(resource);
                let changed = backend.change_data(node, &change).await;
                (format!("end of exhaust on node {node}"), changed.map(drop))
            }
            Undo::Lift(imposed) => return backend.lift(imposed),
            Undo::ResetClock(clock) => return self.clocks.reset(&**backend, clock, fault).await,
            Undo::LiftStock(worker, fault) => {
                return self.context.stock_faults.lift(worker, fault).await;
            }
        };
        // A fault whose effect outlasts its end does not match the plan, so record that.
        if let Err(refusal) = undone {
            let reason = refusal.to_string();
            let recorder = &self.context.recorder;
            recorder.write(EventKind::FaultNotUndone { what, reason });
        }
    }

    /// Waits until the worker is no longer blocked. The wait is limited, because a worker that never reports the end
    /// must not delay the run forever.
    async fn wait_until_unblocked(
        &self,
        worker: usize,
        scope: TaskScope,
        due_ns: u64,
    ) -> Result<Option<u64>, Refusal> {
        let (context, spec) = (&self.context, &self.context.spec);
        let wait = spec.scenario.workload.wait.resolve(spec.ttl());
        let patience = wait + spec.command_timeout() * 2 + spec.longest_fault() + GRACE;
        let until_ns = due_ns.saturating_add(nanos(patience));
        let unblocked = context.backend.unblock_worker(worker, scope);
        let in_time = timeout_at(context.clock.instant(until_ns), unblocked).await;
        in_time.unwrap_or_else(|_| Err(Refusal::Failed("no answer to `block`".into())))
    }

    /// Records a breach if the worker reports the end of the block too early, which shows that it was not blocked.
    fn check_block_duration(&self, id: u32, worker: usize, until_ns: Option<u64>, due_ns: u64) {
        let early_ns =
            until_ns.filter(|until_ns| until_ns.saturating_add(TIMER_TOLERANCE_NS) < due_ns);
        if let Some(arrived_at_ns) = early_ns {
            self.context.recorder.write(EventKind::FreezeBreach {
                id,
                worker,
                node: None,
                arrived_at_ns,
            });
        }
    }
}
