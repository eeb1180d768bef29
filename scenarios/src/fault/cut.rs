//! `cut`: the links' open connections are reset.

use super::{Action, Affects, Kind, Lasts, LinkAction};

pub(super) const KIND: Kind = Kind {
    does: "cuts off {}",
    lasts: |_| Lasts::AtOnce,
    is_instantaneous: true,
    ..Kind::new("cut", Affects::Links, |_| {
        Some(vec![Action::Link(LinkAction::Reset)])
    })
};
