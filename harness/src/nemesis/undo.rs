//! How faults that last only for a while are taken back.

use picklock_scenarios::Resource;

use super::clocks::Whose;
use super::strike::Nemesis;
use crate::history::What;
use crate::wire::ImposedId;
use crate::world::{Refusal, Tampering, World};

/// What must be done when a fault is over. Doing it twice does no harm.
#[derive(Clone)]
pub(super) enum Undo {
    Thaw(Vec<usize>),
    Revive(Vec<usize>),
    Resume(Vec<usize>),
    Restart(Vec<usize>),
    Lift(ImposedId),
    Replenish(Vec<usize>, Resource),
    /// What this fault has shifted.
    PutRight(u32, Vec<Whose>),
    Nothing,
}

impl<W: World> Nemesis<W> {
    pub(super) async fn undo(&self, undo: Undo) {
        let world = &self.stage.world;
        // A worker or node that died meanwhile cannot be thawed; its death is in the history.
        match undo {
            Undo::Thaw(workers) => {
                for worker in workers {
                    world.thaw_worker(worker).await.ok();
                }
            }
            Undo::Revive(workers) => {
                for worker in workers {
                    self.stage.roster.revive(worker);
                }
            }
            Undo::Resume(nodes) => {
                for node in nodes {
                    world.resume_node(node).await.ok();
                }
            }
            Undo::Restart(nodes) => {
                for node in nodes {
                    if let Err(refusal) = world.restart_node(node).await {
                        self.not_undone(format!("restart of node {node}"), &refusal);
                    }
                }
            }
            Undo::Replenish(nodes, resource) => {
                for node in nodes {
                    let relief = Tampering::Replenish(resource);
                    if let Err(refusal) = world.tamper(node, &relief).await {
                        self.not_undone(format!("end of exhaust on node {node}"), &refusal);
                    }
                }
            }
            Undo::PutRight(id, clocks) => {
                for whose in clocks {
                    self.clocks.put_right(&**world, whose, id).await;
                }
            }
            Undo::Lift(imposed) => world.lift(imposed),
            Undo::Nothing => {}
        }
    }

    /// A fault that stays although it should be over is none of the plan's.
    fn not_undone(&self, fault: String, refusal: &Refusal) {
        self.stage.recorder.write(What::FaultMissed {
            fault,
            reason: refusal.to_string(),
            optional: false,
        });
    }
}
