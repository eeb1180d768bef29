//! `leader-keeps-on`: `leader` that resigns without freeing the key, and continues to renew it.
//!
//! No candidate can lead after a resignation (L2). Caught by `progress`, cause `renewed-after-release`, without any
//! fault.

use crate::BuiltInLock;
use crate::varied_leader::{Leader, Mistake, election};

pub(crate) const LOCK: BuiltInLock = election(
    "leader-keeps-on",
    "mutant: leader that resigns without freeing the key, and continues to renew it",
    |nodes, context| Box::new(Leader::new(nodes, context, Some(Mistake::KeepsOn))),
);
