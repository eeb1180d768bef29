//! `flush-all`: every key of the node is deleted (FLUSHALL).

use super::{Action, DataAction, Kind, Lasts, Strikes};
use crate::cause::Cause;

pub(super) const KIND: Kind = Kind {
    does: "deletes every key on {}",
    lasts: |_| Lasts::AtOnce,
    loses: Some(Cause::Evicted),
    strikes_once: true,
    ..Kind::new("flush-all", Strikes::Nodes, |_| {
        Some(vec![Action::Data(DataAction::FlushAll)])
    })
};
