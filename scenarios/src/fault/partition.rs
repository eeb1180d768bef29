//! `partition`: nothing passes between the workers and the nodes; new connections hang.

use super::action::{Action, LinkAction};
use super::kind::{Kind, Strikes};
use super::plan::Field;

pub(super) const KIND: Kind = Kind {
    optional: &[Field::For, Field::Workers, Field::Nodes, Field::Direction],
    ..Kind::new("partition", Strikes::Links, |_| {
        Some(vec![Action::Link(LinkAction::Partition)])
    })
};
