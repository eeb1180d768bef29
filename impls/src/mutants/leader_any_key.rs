//! `leader-any-key`: `leader` that checks that the key exists, but not that the key is its own.
//!
//! A leader that lost its key continues to act as soon as another leader has it (S4: n8n PR#7964). Caught by
//! `exclusion`, cause `phantom-leader`, when the key is evicted.

use crate::BuiltInLock;
use crate::varied_leader::{Leader, Mistake, election};

pub(crate) const LOCK: BuiltInLock = election(
    "leader-any-key",
    "mutant: leader that checks that the key exists, but not which client owns it",
    |nodes, context| Box::new(Leader::new(nodes, context, Some(Mistake::AnyKey))),
);
