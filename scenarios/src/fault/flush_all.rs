//! `flush-all`: every key of the node is deleted (FLUSHALL).

use super::{Action, Affects, DataAction, Kind, Lasts};
use crate::cause::Cause;

pub(super) const KIND: Kind = Kind {
    does: "deletes every key on {}",
    lasts: |_| Lasts::AtOnce,
    loss_cause: Some(Cause::Evicted),
    is_instantaneous: true,
    ..Kind::new("flush-all", Affects::Nodes, |_| {
        Some(vec![Action::Data(DataAction::FlushAll)])
    })
};
