//! `leader-rolled-back`: `leader` that counts a renewal before the server has confirmed it.
//!
//! The belief stays although the renewal changed nothing (S2: oban#1488, where an election is rolled back and the
//! belief is not). Caught by `exclusion`, cause `phantom-leader`, when the key is evicted.

use crate::BuiltInLock;
use crate::varied_leader::{Leader, Mistake, election};

pub(crate) const LOCK: BuiltInLock = election(
    "leader-rolled-back",
    "mutant: leader that counts a renewal before the server has confirmed it",
    |nodes, context| Box::new(Leader::new(nodes, context, Some(Mistake::RolledBack))),
);
