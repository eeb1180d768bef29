//! What a story can tell, before it is made into sentences.

use crate::check::facts::Taken;
use crate::timeline::Hold;

use super::sentence::Weight;

/// Something that a story can tell. Times are in nanoseconds since the run began.
pub(super) enum Line<'a> {
    /// A sentence of its own, and its time.
    Said(u64, Weight, String),
    /// A grant, with its lease.
    Grant(&'a Hold),
    /// What happened to these attempts, without their grants, and the faults of that time.
    Attempts {
        ops: Vec<u64>,
        from_ns: u64,
        to_ns: u64,
    },
    /// The faults of a time.
    Faults { from_ns: u64, to_ns: u64 },
    /// A command that took another client's lock.
    Taken(&'a Taken<'a>),
    /// How the values of a holder went away until then.
    LostValues { hold: &'a Hold, to_ns: u64 },
    /// An extension after the lease had certainly expired, if there was one.
    ResumedLease(&'a Hold),
    /// The death of the worker, if it ended the hold.
    Death(&'a Hold),
}
