//! `pause-node`: the node is frozen for a while.

use super::action::{Action, NodeAction};
use super::kind::{Kind, Strikes};
use super::plan::Field;

pub(super) const KIND: Kind = Kind {
    required: &[Field::For],
    ..Kind::new("pause-node", Strikes::Nodes, |_| {
        Some(vec![Action::Node(NodeAction::Pause)])
    })
};
