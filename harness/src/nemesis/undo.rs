//! How the nemesis undoes what a fault has done.

use super::ongoing::Undo;
use super::schedule::Nemesis;
use crate::backend::{Backend, DataChange, Refusal};
use crate::history::EventKind;

impl<W: Backend> Nemesis<W> {
    pub(super) async fn undo(&self, fault: u32, step: Undo) {
        let backend = &self.context.backend;
        match step {
            // A worker or node that died in the meantime cannot continue; its death is in the
            // history.
            Undo::ThawWorker(worker) => {
                // Where another fault has frozen it too, it stays frozen until that one ends.
                if self.silences.end(&self.context, fault, worker) {
                    backend.thaw_worker(worker).await.unwrap_or_default();
                }
            }
            Undo::ResumeNode(node) => backend.resume_node(node).await.unwrap_or_default(),
            Undo::ReviveWorker(worker) => {
                self.silences.end(&self.context, fault, worker);
                self.context.live_workers.revive(worker);
            }
            Undo::RestartNode(node) => {
                if let Err(refusal) = backend.restart_node(node).await {
                    self.not_undone(format!("restart of node {node}"), &refusal);
                }
            }
            Undo::Replenish(node, resource) => {
                let change = DataChange::Replenish(resource);
                if let Err(refusal) = backend.change_data(node, &change).await {
                    self.not_undone(format!("end of exhaust on node {node}"), &refusal);
                }
            }
            Undo::Lift(imposed) => backend.lift(imposed),
            Undo::ResetClock(clock) => self.clocks.reset(&**backend, clock, fault).await,
            Undo::LiftStock(worker, fault) => {
                self.context.stock_faults.lift(worker, fault).await;
            }
        }
    }

    /// A fault that stays although it should have ended is not part of the plan.
    fn not_undone(&self, what: String, refusal: &Refusal) {
        let reason = refusal.to_string();
        self.context
            .recorder
            .write(EventKind::FaultNotUndone { what, reason });
    }
}
