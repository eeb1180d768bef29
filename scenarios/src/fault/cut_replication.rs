//! `cut-replication`: the node's replicas lose their link to it for good, and with it later writes.

use super::{Action, Affects, Kind, NodeAction};

pub(super) const KIND: Kind = Kind {
    does: "cuts off the replicas of {}",
    replicated: true,
    ..Kind::new("cut-replication", Affects::Nodes, |_| {
        Some(vec![Action::Node(NodeAction::CutReplication)])
    })
};
