//! `inner-lease-counts`: a re-entrant lock whose inner acquisition writes its own lease over the outer one.
//!
//! A helper function that takes the lock briefly shortens its caller's lease (S6). Caught by `lease` when a holder
//! takes the lock again for a short time.

use crate::BuiltInLock;
use crate::mutants::reentrant::{Manner, Reentrant};
use crate::variation::Varied;

pub(crate) const LOCK: BuiltInLock = BuiltInLock::on_one_node(
    "inner-lease-counts",
    "mutant: re-entrant set-nx-px whose inner acquisition shortens the lease",
    |nodes, context| {
        let manner = Manner {
            inner_acquire_counts: false,
            ..Manner::SOUND
        };
        Box::new(Varied::new(nodes, context, Reentrant::new(manner)))
    },
);
