//! `cut-replication`: the node's replicas permanently lose their link to it, and with it all later writes.

use super::{Action, Affects, Kind, NodeAction};

pub(super) const KIND: Kind = Kind {
    does: "cuts off the replicas of {}",
    replicated: true,
    affects_only_replicas: true,
    ..Kind::new("cut-replication", Affects::Nodes, |_| {
        Some(vec![Action::Node(NodeAction::CutReplication)])
    })
};
