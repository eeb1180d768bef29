//! `pause-node`: the node is frozen for a while.

use super::action::{Action, NodeAction};
use super::kind::Kind;
use super::plan::Field;
use super::strikes::Strikes;

pub(super) const KIND: Kind = Kind {
    does: "freezes {}",
    required: &[Field::For],
    ..Kind::new("pause-node", Strikes::Nodes, |_| {
        Some(vec![Action::Node(NodeAction::Pause)])
    })
};
