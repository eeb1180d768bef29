//! `flush-scripts`: the node's scripts are deleted (SCRIPT FLUSH). EVALSHA then answers NOSCRIPT.

use super::{Action, Affects, DataAction, Kind, Lasts};

pub(super) const KIND: Kind = Kind {
    does: "deletes the scripts of {}",
    lasts: |_| Lasts::AtOnce,
    is_instantaneous: true,
    ..Kind::new("flush-scripts", Affects::Nodes, |_| {
        Some(vec![Action::Data(DataAction::FlushScripts)])
    })
};
