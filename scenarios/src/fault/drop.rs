//! `drop`: commands or replies are dropped; the connection stays open.

use super::{Action, Field, Kind, LinkAction, Strikes};

pub(super) const KIND: Kind = Kind {
    does: "swallows {}",
    optional: &[
        Field::For,
        Field::Workers,
        Field::Nodes,
        Field::Direction,
        Field::Frames,
    ],
    ..Kind::new("drop", Strikes::Links, |_| {
        Some(vec![Action::Link(LinkAction::Drop)])
    })
};
