//! Exclusion: the holds of one key that overlap do not together weigh more than the lock's capacity. For a lock that
//! admits one holder, any two overlapping holds are too many.
//!
//! A hold is judged from the arrival of the grant at the driver until the release is sent, the worker dies, or the
//! history ends. The true hold is at least as long, because the client had the grant before the driver received it, and
//! the driver had not yet requested the release. So two overlapping intervals prove that two clients were inside at
//! once. Leases do not matter here. A worker that no fault ended holds the lock until its output is closed, which
//! happens when the process exits.
//!
//! Holds that only touch do not overlap. A hold of zero length strictly inside another hold overlaps it. Such holds
//! occur in the simulation, where a client needs no time to take the lock, find nothing to do and release it.

use crate::check::checker::Checker;
use crate::check::description::{DOES_NOT_APPLY, Description};
use crate::check::finding::{Claim, FalseClaim, Judgement, Observation};
use crate::check::overlap::{self, PairFilter};
use crate::history::{Event, EventKind, Header};
use crate::timeline::{Hold, Lease, Timeline};

/// The checker. It uses the holds if two of them may have overlapped, and for a semaphore the probe after the run.
pub(in crate::check) struct Exclusion {
    capacity: u32,
    /// When a probe got more permits than the lock has, and how many it got.
    extra_permits: Option<(u64, u32)>,
}

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

    fn new(header: &Header) -> Self {
        Exclusion {
            capacity: header.capacity,
            extra_permits: None,
        }
    }

    fn event(&mut self, event: &Event) {
        if let EventKind::Probe {
            permits: Some(permits),
            ..
        } = event.what
            && permits > self.capacity
        {
            self.extra_permits.get_or_insert((event.at_ns, permits));
        }
    }

    fn finish(self, timeline: &Timeline<'_>) -> Judgement {
        let judgement = if timeline.may_holds_overlap() {
            judge_holds(timeline.holds(), self.capacity, overlap::ALL_PAIRS)
        } else {
            Judgement::Held
        };
        let Some((at_ns, permits)) = self.extra_permits.filter(|_| judgement == Judgement::Held)
        else {
            return judgement;
        };
        let statement = format!(
            "after the run, one client got {permits} permits at the same time, and there are {}",
            self.capacity
        );
        let claim = FalseClaim {
            about: Claim::Capacity,
            ops: Vec::new(),
            statement,
        };
        Judgement::from_observations(vec![(at_ns, Observation::FalseClaim(claim))])
    }
}
