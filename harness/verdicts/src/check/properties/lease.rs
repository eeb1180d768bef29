//! Lease: the holds that overlap do not weigh more than the lock's capacity even when each is cut at its own lease
//! deadline. For a lock that admits one holder, two such holds are too many.
//!
//! A violation means that two clients were inside while each had been promised exclusive access: the service let two
//! in. The deadline is never later than what the client may believe (see `timeline/lease_deadline.rs`), so a lock is
//! not blamed after its lease has expired.
//!
//! A lease that is extended after it has expired starts again when the extension arrives; the gap does not count. A
//! client that was let in during the gap, and left before the extension, met no running lease. The message `lost` ends
//! the lease when the message arrives. The holder learned of the loss at that time or earlier.
//!
//! If the lock does not report enough, two spans are known: when a lease certainly ran, and when it may have run. Two
//! leases that certainly ran at the same time prove a violation. If the leases only may have run at the same time, the
//! history is inconclusive.
//!
//! If a lock does not report how long its lease runs, the lease begins when its key was written, as far as the key
//! history of its only node shows that. Otherwise the grant happened at some time between the request and the arrival.
//! With a late grant, the lease lasted at least a TTL from that time, and may have overlapped another lease. With an
//! early grant, it may have begun during another client's lease. If one of the two holds for every possible time of the
//! grant, the service let two in.
//!
//! A holder may withdraw a report, so its leases are known only when its hold has ended.

use crate::check::checker::Checker;
use crate::check::description::{DOES_NOT_APPLY, Description};
use crate::check::finding::Judgement;
use crate::check::inconclusive::InconclusiveReason;
use crate::check::overlap::{self, PairFilter};
use crate::history::Header;
use crate::timeline::{self, Hold, Timeline};

/// The checker. A lease runs only during its hold, so the holds are used only if two of them may have overlapped.
pub(in crate::check) struct Lease;

/// Returns `true` if the lock was granted to `hold` during a lease of `other`, for every possible time of the grant
/// between the request and its arrival. Applies to locks that do not report how long their lease runs.
fn was_granted_during_lease(hold: &Hold, other: &Hold) -> bool {
    let certain = &other.leases;
    // A later report may have withdrawn the lease.
    let until_ns = hold.end_ns.min(hold.earliest_deadline_ns);
    let meets = |lease: &&timeline::Lease| {
        until_ns >= hold.begin_ns && timeline::overlap((hold.begin_ns, until_ns), lease.span())
    };
    let Some(met) = certain.iter().find(meets) else {
        return false;
    };
    // If the lock was granted later than this, the lease of `hold` was running while both clients were inside.
    let early_ns = met.from_ns.max(hold.begin_ns).saturating_sub(hold.ttl_ns);
    let around =
        |lease: &timeline::Lease| lease.from_ns < hold.acquire_ns && early_ns < lease.until_ns;
    !hold.lease_reported && !hold.lease_observed && certain.iter().any(around)
}

/// Judges the leases of holds, which must be in the order in which they began.
pub(in crate::check) fn judge_leases(
    holds: &[Hold],
    capacity: u32,
    is_judged: PairFilter<'_>,
) -> Judgement {
    let certain_end_ns = |hold: &Hold| overlap::last_end_ns(&hold.leases);
    let possible_end_ns = |hold: &Hold| overlap::last_end_ns(&hold.possible_leases);
    let certain = overlap::judge_overlaps(
        holds,
        capacity,
        is_judged,
        certain_end_ns,
        |one, other, on_part| {
            let mut is_shared = false;
            timeline::Lease::each_shared(&one.leases, &other.leases, |part| {
                is_shared = true;
                on_part(part);
            });
            let is_during =
                || was_granted_during_lease(one, other) || was_granted_during_lease(other, one);
            // It is unknown when exactly such a lease ran, so it proves nothing about more than two holds.
            if !is_shared && capacity == 1 && is_during() {
                let at_ns = one.begin_ns.max(other.begin_ns);
                on_part(timeline::Lease {
                    from_ns: at_ns,
                    until_ns: at_ns,
                });
            }
        },
    );
    let possible = overlap::judge_overlaps(
        holds,
        capacity,
        is_judged,
        possible_end_ns,
        |one, other, on_part| {
            timeline::Lease::each_shared(&one.possible_leases, &other.possible_leases, on_part);
        },
    );
    match (certain, possible) {
        (Judgement::Held, Judgement::Violated { .. }) => {
            Judgement::Unknown(InconclusiveReason::LeasesMayHaveOverlapped)
        }
        (certain, _) => certain,
    }
}

impl Checker for Lease {
    const DESCRIPTION: Description = Description {
        letter: 'L',
        severity: 0,
        held: "no client was let in while another's lease was running",
        violated: "two clients' leases overlapped",
        not_applicable: DOES_NOT_APPLY,
        page: include_str!("../../../explain/lease.md"),
    };

    fn new(_: &Header) -> Self {
        Lease
    }

    fn finish(self, timeline: &Timeline<'_>) -> Judgement {
        if !timeline.may_holds_overlap() {
            return Judgement::Held;
        }
        let capacity = timeline.history().header.capacity;
        judge_leases(timeline.holds(), capacity, overlap::ALL_PAIRS)
    }
}
