//! `cut`: the links' open connections are reset.

use super::{Action, Kind, Lasts, LinkAction, Strikes};

pub(super) const KIND: Kind = Kind {
    does: "breaks off {}",
    lasts: |_| Lasts::AtOnce,
    strikes_once: true,
    ..Kind::new("cut", Strikes::Links, |_| {
        Some(vec![Action::Link(LinkAction::Reset)])
    })
};
