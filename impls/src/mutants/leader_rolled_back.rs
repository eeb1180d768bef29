//! `leader-rolled-back`: `leader` that counts a renewal before the server has confirmed it.
//!
//! The client still considers itself the leader although the renewal changed nothing (S2: oban#1488, where the election
//! is rolled back, but not the state of the client). Caught by `exclusion`, cause `phantom-leader`, when the key is
//! evicted.

use crate::BuiltInLock;
use crate::varied_leader::{Leader, Mistake, election};

pub(crate) const LOCK: BuiltInLock = election(
    "leader-rolled-back",
    "mutant: leader that counts a renewal before the server has confirmed it",
    |nodes, context| Box::new(Leader::new(nodes, context, Some(Mistake::RolledBack))),
);
