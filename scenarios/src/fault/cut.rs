//! `cut`: the links' open connections are reset.

use super::action::{Action, LinkAction};
use super::kind::{Kind, Lasts};
use super::strikes::Strikes;

pub(super) const KIND: Kind = Kind {
    does: "breaks off {}",
    lasts: |_| Lasts::AtOnce,
    strikes_once: true,
    ..Kind::new("cut", Strikes::Links, |_| {
        Some(vec![Action::Link(LinkAction::Reset)])
    })
};
