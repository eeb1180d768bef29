//! `pause-node`: the node is frozen for a while.

use super::{Action, Affects, Field, Kind, NodeAction};

pub(super) const KIND: Kind = Kind {
    does: "freezes {}",
    required: &[Field::For],
    ..Kind::new("pause-node", Affects::Nodes, |_| {
        Some(vec![Action::Node(NodeAction::Pause)])
    })
};
