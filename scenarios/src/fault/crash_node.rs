//! `crash-node`: the node is killed, and restarted after `for`.

use super::{Action, Affects, Field, Kind, NodeAction};
use crate::cause::Cause;

pub(super) const KIND: Kind = Kind {
    does: "kills {}",
    optional: &[Field::For, Field::Nodes],
    loss_cause: Some(Cause::LostOnRestart),
    ..Kind::new("crash-node", Affects::Nodes, |_| {
        Some(vec![Action::Node(NodeAction::Crash)])
    })
};
