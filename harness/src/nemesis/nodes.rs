//! Actions on nodes.

use picklock_scenarios::NodeAction;

use super::ongoing::Undo;
use super::schedule::Nemesis;
use crate::world::{Refusal, World};

impl<W: World> Nemesis<W> {
    pub(super) async fn apply_to_node(
        &self,
        fault: u32,
        action: NodeAction,
        node: usize,
    ) -> Result<(), Refusal> {
        let world = &self.context.world;
        match action {
            NodeAction::Pause => {
                world.pause_node(node).await?;
                self.ongoing.record(fault, Undo::ResumeNode(node));
            }
            NodeAction::Crash => {
                world.crash_node(node).await?;
                self.ongoing.record(fault, Undo::RestartNode(node));
            }
            NodeAction::CutReplication => world.cut_replication(node).await?,
            NodeAction::FailOver => {
                world.fail_over(node).await?;
                self.clocks.replaced(node);
            }
            // The schedule gives it a course of its own.
            NodeAction::FailOverBySentinels => {}
        }
        Ok(())
    }
}
