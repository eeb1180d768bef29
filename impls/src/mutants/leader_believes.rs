//! `leader-believes`: `leader` that acts as the leader until it resigns, whatever its renewals return.
//!
//! Its timer ends when a renewal finds the key missing, without a report (S2: dramatiq-crontab#118). Caught by
//! `exclusion`, cause `phantom-leader`, when the key is evicted.

use crate::BuiltInLock;
use crate::varied_leader::{Leader, Mistake, election};

pub(crate) const LOCK: BuiltInLock = election(
    "leader-believes",
    "mutant: leader that acts until it resigns, whatever its renewals return",
    |nodes, context| Box::new(Leader::new(nodes, context, Some(Mistake::Believes))),
);
