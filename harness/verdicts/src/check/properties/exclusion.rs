//! Exclusion: the holds of one key that overlap do not together weigh more than the lock's capacity. Two holds of a lock
//! with one holder do.
//!
//! A hold is judged from the arrival of the grant at the driver until the release is sent, the worker dies, or the
//! history ends. The true hold is no shorter: the client had the grant before it arrived at the driver, and had not yet
//! been asked to release. So two overlapping intervals prove that two clients were inside at once. Leases do not matter
//! here. A worker that dies on its own holds the lock until the driver sees its output close, which is when the process
//! exits.
//!
//! Holds that only touch do not overlap. A hold of zero length strictly inside another one does: in the simulation, a
//! client that takes the lock, finds nothing to do and releases it needs no time.

use crate::check::checker::Checker;
use crate::check::description::{DOES_NOT_APPLY, Description};
use crate::check::finding::Judgement;
use crate::check::overlap::{self, PairFilter};
use crate::history::Header;
use crate::timeline::{Hold, Lease, Timeline};

/// The checker. It uses only the holds.
pub(in crate::check) struct Exclusion;

/// Judges holds, which must be in the order in which they began.
pub(in crate::check) fn judge_holds(
    holds: &[Hold],
    capacity: u32,
    is_judged: PairFilter<'_>,
) -> Judgement {
    let end_ns = |hold: &Hold| hold.end_ns;
    overlap::judge_overlaps(holds, capacity, is_judged, end_ns, |one, other, on_part| {
        if one.overlaps(other) {
            on_part(Lease {
                from_ns: other.begin_ns,
                until_ns: one.end_ns.min(other.end_ns),
            });
        }
    })
}

impl Checker for Exclusion {
    const DESCRIPTION: Description = Description {
        letter: 'E',
        severity: 3,
        held: "no two clients held a lock at the same time",
        violated: "two clients held one lock",
        not_applicable: DOES_NOT_APPLY,
        page: include_str!("../../../explain/exclusion.md"),
    };

    fn new(_: &Header) -> Self {
        Exclusion
    }

    fn finish(self, timeline: &Timeline<'_>) -> Judgement {
        let capacity = timeline.history().header.capacity;
        judge_holds(timeline.holds(), capacity, overlap::ALL_PAIRS)
    }
}
