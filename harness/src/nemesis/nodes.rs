//! Actions on nodes.

use picklock_scenarios::NodeAction;

use super::ongoing::Undo;
use super::schedule::Nemesis;
use crate::backend::{Backend, Refusal};

impl<W: Backend> Nemesis<W> {
    pub(super) async fn apply_to_node(
        &self,
        fault: u32,
        action: NodeAction,
        node: usize,
    ) -> Result<(), Refusal> {
        let backend = &self.context.backend;
        match action {
            NodeAction::Pause => {
                backend.pause_node(node).await?;
                self.ongoing.record(fault, Undo::ResumeNode(node));
            }
            NodeAction::Crash => {
                backend.crash_node(node).await?;
                self.ongoing.record(fault, Undo::RestartNode(node));
            }
            NodeAction::CutReplication => backend.cut_replication(node).await?,
            NodeAction::FailOver => {
                backend.fail_over(node).await?;
                self.clocks.replaced(node);
            }
            // The schedule gives it a course of its own.
            NodeAction::FailOverBySentinels => {}
        }
        Ok(())
    }
}
