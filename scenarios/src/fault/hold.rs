//! `hold`: commands or replies are held back in order, and delivered when the fault ends.

use super::{Action, Affects, Field, Kind, Lasts, LinkAction};

pub(super) const KIND: Kind = Kind {
    does: "holds back {}",
    optional: Field::OF_MESSAGES,
    // The fault lasts beyond its last frame, because it still holds the frames back.
    lasts: |plan| plan.duration.map_or(Lasts::Forever, Lasts::For),
    holds_back: true,
    ..Kind::new("hold", Affects::Links, |_| {
        Some(vec![Action::Link(LinkAction::Hold)])
    })
};
