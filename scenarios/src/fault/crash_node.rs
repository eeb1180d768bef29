//! `crash-node`: the node is killed, and started again after `for`.

use super::action::{Action, NodeAction};
use super::kind::{Kind, Strikes};
use super::plan::Field;

pub(super) const KIND: Kind = Kind {
    optional: &[Field::For, Field::Nodes],
    ..Kind::new("crash-node", Strikes::Nodes, |_| {
        Some(vec![Action::Node(NodeAction::Crash)])
    })
};
