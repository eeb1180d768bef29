//! `drop`: commands or replies are dropped. A byte stream never has a gap, so nothing that follows them arrives on
//! the same connection: it is dropped as well, or the connection is reset.

use super::{Action, Affects, Field, Kind, LinkAction};

pub(super) const KIND: Kind = Kind {
    does: "swallows {}",
    optional: Field::OF_MESSAGES,
    ..Kind::new("drop", Affects::Links, |_| {
        Some(vec![Action::Link(LinkAction::Drop)])
    })
};
