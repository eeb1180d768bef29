//! `clock-jump`: the node's wall clock jumps, and jumps back after `for`.

use std::time::Duration;

use super::{Action, Affects, FaultPlan, Field, Kind, Lasts};
use crate::cause::Cause;
use crate::problem::Problem;
use crate::topology::Topology;
use crate::workload::Workload;

pub(super) const KIND: Kind = Kind {
    does: "sets the wall clock of {}",
    required: &[Field::By],
    optional: &[Field::For, Field::Nodes],
    check: must_move,
    // A jump is instantaneous, but a clock that jumps back later is wrong until then.
    lasts: |plan| plan.duration.map_or(Lasts::AtOnce, Lasts::For),
    loss_cause: Some(Cause::ClockJump),
    is_instantaneous: true,
    ..Kind::new("clock-jump", Affects::Nodes, |plan| {
        Some(vec![Action::ShiftClocks(plan.by?)])
    })
};

/// Checks that a fault of clocks shifts them.
pub(super) fn must_move(plan: &FaultPlan, _: &Topology, _: &Workload) -> Result<(), Problem> {
    // A span relative to the lease is zero only if its factor is zero, so any lease will do.
    let is_zero = |by: crate::SignedDuration| by.span.resolve(Duration::from_secs(1)).is_zero();
    match plan.by {
        Some(by) if is_zero(by) => {
            let text = "`by` is zero: the fault would do nothing";
            Err(Problem::at(&["by"], text))
        }
        _ => Ok(()),
    }
}
