//! `drop`: commands or replies are dropped; the connection stays open.

use super::{Action, Field, Kind, LinkAction, Strikes};

pub(super) const KIND: Kind = Kind {
    does: "swallows {}",
    optional: Field::OF_MESSAGES,
    ..Kind::new("drop", Strikes::Links, |_| {
        Some(vec![Action::Link(LinkAction::Drop)])
    })
};
