//! `inner-release-frees`: a re-entrant lock whose inner release deletes the key.
//!
//! The holder takes the lock twice, and its first release ends both holds (S12). Caught by `lease` when a holder takes
//! the lock again while another client waits.

use crate::BuiltInLock;
use crate::mutants::reentrant::{Manner, Reentrant};
use crate::variation::Varied;

pub(crate) const LOCK: BuiltInLock = BuiltInLock::on_one_node(
    "inner-release-frees",
    "mutant: re-entrant set-nx-px whose inner release deletes the key",
    |nodes, context| {
        let manner = Manner {
            inner_release_counts: false,
            ..Manner::SOUND
        };
        Box::new(Varied::new(nodes, context, Reentrant::new(manner)))
    },
);
