//! Applies the actions of a fault to everything that it strikes.

use picklock_scenarios::{Action, FaultPlan, Target};

use super::clocks::ClockOf;
use super::ongoing::Undo;
use super::schedule::Nemesis;
use crate::backend::{Backend, Refusal};
use crate::context::Location;

impl<W: Backend> Nemesis<W> {
    /// Each step is recorded when it is done. On a refusal the caller ends the fault, which undoes
    /// the steps before it.
    pub(super) async fn apply(
        &self,
        fault: u32,
        plan: &FaultPlan,
        target: &Target,
        location: Location,
    ) -> Result<(), Refusal> {
        let actions = plan.actions().ok_or_else(|| {
            let word = plan.kind.word();
            Refusal::Failed(format!("a field of `{word}` is missing"))
        })?;
        for action in actions {
            match action {
                Action::Worker(action) => {
                    for worker in &target.workers {
                        self.apply_to_worker(fault, action, *worker).await?;
                    }
                }
                Action::Node(action) => {
                    for node in &target.nodes {
                        self.apply_to_node(fault, action, *node).await?;
                    }
                }
                Action::Data(action) => self.apply_to_data(fault, &action, &target.nodes).await?,
                Action::Link(action) => {
                    self.apply_to_links(fault, action, plan, target, location);
                }
                Action::ShiftClocks(by) => {
                    let by_ns = by.resolve_ns(self.context.spec.ttl());
                    let workers = target.workers.iter().copied().map(ClockOf::Worker);
                    let nodes = target.nodes.iter().copied().map(ClockOf::Node);
                    for clock in workers.chain(nodes) {
                        let backend = &*self.context.backend;
                        self.clocks.shift(backend, clock, fault, by_ns).await?;
                        self.ongoing.record(fault, Undo::ResetClock(clock));
                    }
                }
            }
        }
        Ok(())
    }
}
