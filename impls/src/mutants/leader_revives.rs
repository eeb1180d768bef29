//! `leader-revives`: `leader` that renews by a plain SET, whether or not the key still exists.
//!
//! A renewal revives a dead lease, over the key of the next leader (S3: codex-lb PR#1253). Caught by `ownership`, cause
//! `phantom-extend`, when the key is evicted.

use crate::BuiltInLock;
use crate::varied_leader::{Leader, Mistake, election};

pub(crate) const LOCK: BuiltInLock = election(
    "leader-revives",
    "mutant: leader that renews by a plain SET, whether or not the key is still there",
    |nodes, context| Box::new(Leader::new(nodes, context, Some(Mistake::Revives))),
);
