//! `failover`: the node's first replica is promoted. The old master is gone, and the links lead to the new one. The new
//! master has all data that had reached it, which is everything unless replication was cut before.

use super::{Action, Affects, FaultPlan, Kind, Lasts, NodeAction};
use crate::cause::Cause;
use crate::problem::Problem;
use crate::topology::Topology;
use crate::workload::Workload;

pub(super) const KIND: Kind = Kind {
    does: "promotes the replica of {}",
    replicated: true,
    check,
    lasts: |_| Lasts::AtOnce,
    loss_cause: Some(Cause::LostOnFailover),
    ..Kind::new("failover", Affects::Nodes, |_| {
        Some(vec![Action::Node(NodeAction::FailOver)])
    })
};

fn check(_: &FaultPlan, topology: &Topology, _: &Workload) -> Result<(), Problem> {
    if topology.sentinels == 0 {
        return Ok(());
    }
    let text = "`failover` bypasses the Sentinels, which would not notice it";
    Err(Problem::at(&["kind"], text).hint("use `sentinel-failover`"))
}
