//! `exhaust`: the node runs out of memory or connections, and refuses commands or clients that need them.

use super::{Action, Affects, DataAction, Field, Kind, Resource};

pub(super) const KIND: Kind = Kind {
    does: "exhausts the {of} of {}",
    required: &[Field::Resource],
    optional: &[Field::For, Field::Nodes],
    detail: |plan| {
        Some(match plan.what? {
            Resource::Memory => "memory".to_owned(),
            Resource::Connections => "connections".to_owned(),
        })
    },
    ..Kind::new("exhaust", Affects::Nodes, |plan| {
        Some(vec![Action::Data(DataAction::Exhaust(plan.what?))])
    })
};
