//! `leader-host-name`: `leader` whose name is that of its host, which other candidates may share.
//!
//! A candidate that finds its own name in the key leads (S12). Two candidates in one container, or in containers with
//! one name, lead together. Caught by `exclusion`, cause `unbacked-grant`, without any fault.

use crate::BuiltInLock;
use crate::varied_leader::{Leader, Mistake, election};

pub(crate) const LOCK: BuiltInLock = election(
    "leader-host-name",
    "mutant: leader that identifies itself by its host name, which other candidates share",
    |nodes, context| Box::new(Leader::new(nodes, context, Some(Mistake::HostName))),
);
