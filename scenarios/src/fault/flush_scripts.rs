//! `flush-scripts`: the node's scripts are deleted (SCRIPT FLUSH). EVALSHA then answers NOSCRIPT.

use super::{Action, DataAction, Kind, Lasts, Strikes};

pub(super) const KIND: Kind = Kind {
    does: "makes {} forget its scripts",
    lasts: |_| Lasts::AtOnce,
    strikes_once: true,
    ..Kind::new("flush-scripts", Strikes::Nodes, |_| {
        Some(vec![Action::Data(DataAction::FlushScripts)])
    })
};
