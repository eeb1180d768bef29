//! `crash-node`: the node is killed, and started again after `for`.

use super::{Action, Field, Kind, NodeAction, Strikes};
use crate::cause::Cause;

pub(super) const KIND: Kind = Kind {
    does: "kills {}",
    optional: &[Field::For, Field::Nodes],
    loses: Some(Cause::LostOnRestart),
    ..Kind::new("crash-node", Strikes::Nodes, |_| {
        Some(vec![Action::Node(NodeAction::Crash)])
    })
};
