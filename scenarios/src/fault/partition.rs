//! `partition`: nothing passes between the workers and the nodes; new connections hang.

use super::{Action, Affects, Field, Kind, LinkAction};

pub(super) const KIND: Kind = Kind {
    does: "blocks {}",
    optional: &[Field::For, Field::Workers, Field::Nodes, Field::Direction],
    holds_back: true,
    ..Kind::new("partition", Affects::Links, |_| {
        Some(vec![Action::Link(LinkAction::Partition)])
    })
};
