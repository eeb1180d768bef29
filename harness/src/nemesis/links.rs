//! Actions on links.

use picklock_scenarios::{FaultPlan, LinkAction, Target};

use super::ongoing::Undo;
use super::schedule::Nemesis;
use crate::backend::Backend;
use crate::context::Location;
use crate::wire::{Effect, LinkFault};

impl<W: Backend> Nemesis<W> {
    pub(super) fn apply_to_links(
        &self,
        fault: u32,
        action: LinkAction,
        plan: &FaultPlan,
        target: &Target,
        location: Location,
    ) {
        let backend = &self.context.backend;
        let ttl = self.context.spec.ttl();
        let effect = match action {
            LinkAction::Reset => return backend.cut(Some(&target.workers), Some(&target.nodes)),
            LinkAction::Delay { by, jitter } => Effect::Delay {
                by: by.resolve(ttl),
                jitter: jitter.resolve(ttl),
            },
            LinkAction::Drop => Effect::Drop,
            LinkAction::Hold => Effect::Hold,
            LinkAction::Partition => Effect::Partition,
        };
        // A counted fault that a frame started strikes that frame first, whatever else passes.
        let frame = location.frame.filter(|_| plan.frames.is_some());
        let imposed = backend.impose(LinkFault {
            workers: Some(target.workers.clone()),
            nodes: Some(target.nodes.clone()),
            conn: frame.map(|(conn, _)| conn),
            direction: plan.direction.or(frame.map(|(_, direction)| direction)),
            effect,
            frames: plan.frames,
        });
        self.ongoing.record(fault, Undo::Lift(imposed));
    }
}
