//! `delay`: commands or replies arrive later.

use super::{Action, Affects, FaultPlan, Field, Kind, LinkAction};
use crate::lease_duration::LeaseDuration;
use crate::problem::Problem;
use crate::topology::Topology;
use crate::workload::Workload;

pub(super) const KIND: Kind = Kind {
    does: "delays {}",
    required: &[Field::By],
    optional: &[
        Field::Jitter,
        Field::For,
        Field::Workers,
        Field::Nodes,
        Field::Direction,
        Field::Frames,
    ],
    check,
    holds_back: true,
    only_delays: true,
    ..Kind::new("delay", Affects::Links, |plan| {
        Some(vec![Action::Link(LinkAction::Delay {
            by: plan.by?.span,
            jitter: plan.jitter.unwrap_or(LeaseDuration::ZERO),
        })])
    })
};

fn check(plan: &FaultPlan, _: &Topology, _: &Workload) -> Result<(), Problem> {
    match plan.by {
        Some(by) if by.back => Err(Problem::at(
            &["by"],
            "`by` of a `delay` cannot be negative; only a clock can be set back",
        )),
        _ => Ok(()),
    }
}
