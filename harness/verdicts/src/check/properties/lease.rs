//! Lease: no two holds overlap even when each is cut at its own lease deadline.
//!
//! If this is violated, two clients were inside while each had been promised to be alone: the
//! service let two in. The deadline is never later than what the client may believe (see
//! `timeline/lease_deadline.rs`), so a lock is not accused after its lease has expired.
//!
//! A lease that is extended after it has expired starts again when the extension arrives; the gap
//! does not count. A client that was let in during the gap, and left before the extension, met no
//! running lease. The message `lost` ends the lease when it arrives; the holder knew no later.
//!
//! Where the lock does not say enough, it is only known when a lease certainly ran, and when it
//! may have run. Two leases that certainly ran at the same time prove a violation. If two may have
//! done so, the history does not decide it.
//!
//! A lock that does not say how long its lease runs has one from when its key was written, where the key history
//! of its only node shows that. Else it granted it at some time between the request and the arrival. If it was granted late, its lease lasted at least a TTL from then, and may have met
//! another one. If it was granted early, it may have been in the middle of another's lease. If one of
//! the two is true of every such time, the service let two in, whenever it was.
//!
//! A holder may take back what it said, so its leases are known when its hold has ended.

use crate::check::checker::Checker;
use crate::check::description::{DOES_NOT_APPLY, Description};
use crate::check::finding::Judgement;
use crate::check::inconclusive::InconclusiveReason;
use crate::check::overlap::{self, Pairs};
use crate::history::Header;
use crate::timeline::{self, Hold, Timeline};

/// The checker. It looks at nothing but the holds.
pub(in crate::check) struct Lease;

/// True if the lock was granted to this holder beside a lease of the other one, whenever that was
/// between the request and the arrival. For locks that do not say when.
fn was_granted_beside(hold: &Hold, other: &Hold) -> bool {
    let certain = &other.leases;
    // What it said later may have taken the lease back.
    let until_ns = hold.end_ns.min(hold.earliest_deadline_ns);
    let meets = |lease: &&timeline::Lease| {
        until_ns >= hold.begin_ns && timeline::overlap((hold.begin_ns, until_ns), lease.span())
    };
    let Some(met) = certain.iter().find(meets) else {
        return false;
    };
    // Granted later than this, its own lease ran while the two were inside.
    let early_ns = met.from_ns.max(hold.begin_ns).saturating_sub(hold.ttl_ns);
    let around =
        |lease: &timeline::Lease| lease.from_ns < hold.acquire_ns && early_ns < lease.until_ns;
    !hold.lease_reported && !hold.lease_observed && certain.iter().any(around)
}

/// How many leases of two holds certainly overlap, and since when.
fn shared_certainly(one: &Hold, other: &Hold) -> (u64, Option<u64>) {
    let shared = timeline::Lease::shared(&one.leases, &other.leases);
    if shared.0 == 0 && (was_granted_beside(one, other) || was_granted_beside(other, one)) {
        return (1, Some(one.begin_ns.max(other.begin_ns)));
    }
    shared
}

/// How many may overlap, and since when.
fn shared_possibly(one: &Hold, other: &Hold) -> (u64, Option<u64>) {
    timeline::Lease::shared(&one.possible_leases, &other.possible_leases)
}

/// What these holds show, which are in the order in which they began.
pub(in crate::check) fn judge_leases(holds: &[Hold], pairs: Pairs<'_>) -> Judgement {
    let judge =
        |shared: fn(&Hold, &Hold) -> (u64, Option<u64>)| overlap::judge_pairs(holds, pairs, shared);
    match (judge(shared_certainly), judge(shared_possibly)) {
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
        judge_leases(timeline.holds(), overlap::ALL)
    }
}
