//! How the nemesis undoes what a fault has done.

use super::ongoing::Undo;
use super::schedule::Nemesis;
use crate::history::What;
use crate::world::{DataChange, Refusal, World};

impl<W: World> Nemesis<W> {
    pub(super) async fn undo(&self, fault: u32, step: Undo) {
        let world = &self.context.world;
        match step {
            // A worker or node that died in the meantime cannot continue; its death is in the
            // history.
            Undo::ThawWorker(worker) => {
                // Where another fault has frozen it too, it stays frozen until that one ends.
                if self.silences.end(&self.context, fault, worker) {
                    world.thaw_worker(worker).await.unwrap_or_default();
                }
            }
            Undo::ResumeNode(node) => world.resume_node(node).await.unwrap_or_default(),
            Undo::ReviveWorker(worker) => {
                self.silences.end(&self.context, fault, worker);
                self.context.roster.revive(worker);
            }
            Undo::RestartNode(node) => {
                if let Err(refusal) = world.restart_node(node).await {
                    self.not_undone(format!("restart of node {node}"), &refusal);
                }
            }
            Undo::Replenish(node, resource) => {
                let change = DataChange::Replenish(resource);
                if let Err(refusal) = world.change_data(node, &change).await {
                    self.not_undone(format!("end of exhaust on node {node}"), &refusal);
                }
            }
            Undo::Lift(imposed) => world.lift(imposed),
            Undo::ResetClock(clock) => self.clocks.reset(&**world, clock, fault).await,
        }
    }

    /// A fault that stays although it should have ended is not part of the plan.
    fn not_undone(&self, fault: String, refusal: &Refusal) {
        self.context.recorder.write(What::FaultMissed {
            fault,
            reason: refusal.to_string(),
            optional: false,
        });
    }
}
