//! `hold`: commands or replies are kept back in order, and delivered when the fault ends.

use super::{Action, Affects, Field, Kind, Lasts, LinkAction};

pub(super) const KIND: Kind = Kind {
    does: "holds back {}",
    optional: Field::OF_MESSAGES,
    // When it has held as many frames as it was meant for, it still holds them.
    lasts: |plan| plan.duration.map_or(Lasts::Forever, Lasts::For),
    ..Kind::new("hold", Affects::Links, |_| {
        Some(vec![Action::Link(LinkAction::Hold)])
    })
};
