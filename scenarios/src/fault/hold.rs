//! `hold`: commands or replies are held back in order, and delivered when the fault ends.

use super::{Action, Affects, Field, Kind, Lasts, LinkAction};

pub(super) const KIND: Kind = Kind {
    does: "holds back {}",
    optional: Field::OF_MESSAGES,
    // After it has held the given number of frames, it still holds them.
    lasts: |plan| plan.duration.map_or(Lasts::Forever, Lasts::For),
    ..Kind::new("hold", Affects::Links, |_| {
        Some(vec![Action::Link(LinkAction::Hold)])
    })
};
