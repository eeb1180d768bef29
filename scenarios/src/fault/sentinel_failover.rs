//! `sentinel-failover`: the node's master is frozen until the Sentinels have promoted its replica. After `for` the
//! master is resumed, and is a stale master until the Sentinels make it a replica. Without `for` it stays frozen.

use super::{Action, Affects, FaultPlan, Field, Kind, NodeAction};
use crate::cause::Cause;
use crate::problem::Problem;
use crate::topology::Topology;
use crate::workload::Workload;

pub(super) const KIND: Kind = Kind {
    does: "freezes {} until the Sentinels promote its replica",
    optional: &[Field::For, Field::Nodes],
    replicated: true,
    check,
    loss_cause: Some(Cause::LostOnFailover),
    ..Kind::new("sentinel-failover", Affects::Nodes, |_| {
        Some(vec![Action::Node(NodeAction::FailOverBySentinels)])
    })
};

fn check(_: &FaultPlan, topology: &Topology, _: &Workload) -> Result<(), Problem> {
    if topology.sentinels > 0 {
        return Ok(());
    }
    let text = "`sentinel-failover` needs Sentinels, and there are none";
    Err(Problem::at(&["kind"], text).hint("set `topology.sentinels = 3`"))
}
