//! `leader-epoch-expires`: `leader` that counts its epochs with a counter that expires.
//!
//! After a time without a leader the epochs begin again (S13), and the resource refuses the new leader. Caught by
//! `fencing` when a leader crashes.

use crate::BuiltInLock;
use crate::varied_leader::{Leader, Mistake, election};

pub(crate) const LOCK: BuiltInLock = election(
    "leader-epoch-expires",
    "mutant: leader that counts its epochs with a counter that expires",
    |nodes, context| Box::new(Leader::new(nodes, context, Some(Mistake::EpochExpires))),
);
