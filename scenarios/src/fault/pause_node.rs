//! `pause-node`: the node is frozen for a while.

use super::{Action, Field, Kind, NodeAction, Strikes};

pub(super) const KIND: Kind = Kind {
    does: "freezes {}",
    required: &[Field::For],
    ..Kind::new("pause-node", Strikes::Nodes, |_| {
        Some(vec![Action::Node(NodeAction::Pause)])
    })
};
