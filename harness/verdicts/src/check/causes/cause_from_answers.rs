//! Causes in a history without key history, from releases and faults.
//!
//! The possible causes are examined in this order: an extension of an expired lease, the clients' own leases, another
//! client's release, and a fault that makes a server lose the lock. A clock that was set back is not a cause, and
//! neither is the restart of a quorum node before the lock was acquired.

use crate::check::causes::facts::{Facts, Overlap, ResolvedObservation};
use crate::check::verdict::Cause;
use crate::timeline::{FaultSpan, Hold, loss_cause, ns_from_ms};

/// Returns the cause of a violation in a history without key history.
pub(in crate::check) fn cause(facts: &Facts<'_>) -> Cause {
    match &facts.about {
        ResolvedObservation::Overlap(holds)
        | ResolvedObservation::WrongStock {
            sellers: Some(holds),
            ..
        } => cause_of_overlap(facts, holds),
        // The token counter started again after this hold.
        ResolvedObservation::StaleToken {
            before: Some(before),
            ..
        } => cause_from_faults(facts, before, facts.at_ns, &[before.worker]),
        // The value of that attempt should have expired long ago, so something keeps renewing it.
        ResolvedObservation::Starvation { starvation, .. } if starvation.doubt.is_some() => {
            Cause::AmbiguousAcquire
        }
        _ => Cause::Undetermined,
    }
}

/// Returns why two holds of one key overlap.
fn cause_of_overlap(facts: &Facts<'_>, holds: &Overlap<'_>) -> Cause {
    let (first, second) = (holds.first, holds.second);
    if holds.has_expired_grant {
        return Cause::ExpiredGrant;
    }
    if first.shares_lease_with(second) && !share_first_leases(first, second) {
        return Cause::PhantomExtend;
    }
    if holds.is_outlived {
        return Cause::OutlivedLease;
    }
    if !holds.taken.is_empty() {
        return Cause::StolenRelease;
    }
    cause_from_faults(
        facts,
        first,
        second.begin_ns,
        &[first.worker, second.worker],
    )
}

/// Returns the cause that belongs to the latest fault before `to_ns` that could have made a server lose the lock of
/// this hold. A fault of clients counts only if it affects one of `workers`.
fn cause_from_faults(facts: &Facts<'_>, hold: &Hold, to_ns: u64, workers: &[usize]) -> Cause {
    let header = &facts.history.header;
    // A lease never lasts longer than the TTL, so a fault that fired earlier than that cannot have lost the lock.
    let earliest_ns = hold
        .first_deadline_ns
        .saturating_sub(ns_from_ms(header.ttl_ms));
    let from_ns = hold.acquire_ns.max(earliest_ns);
    let cause_of = |fault: &FaultSpan<'_>| match loss_cause(fault.fault)? {
        // A node that was already dead when the lock was acquired never had its value.
        Cause::LostOnRestart if fault.began_ns < from_ns => None,
        Cause::LostOnRestart if header.nodes > 1 => Some(Cause::QuorumErosion),
        // If a node's clock is set back, its keys live longer.
        Cause::ClockJump if fault.clock.is_some_and(|shift| shift.by_ns <= 0) => None,
        // A client's clock misleads that client.
        Cause::ClockSkew if !workers.iter().any(|worker| fault.affects(*worker)) => None,
        cause => Some(cause),
    };
    (facts.faults.iter().rev())
        .filter(|fault| fault.took_effect() && fault.touches(from_ns, to_ns))
        .find_map(cause_of)
        .unwrap_or(Cause::Undetermined)
}

/// Returns `true` if the leases with which the two holds were granted overlap, without any extension of a lease that
/// had certainly expired.
fn share_first_leases(one: &Hold, other: &Hold) -> bool {
    let theirs = other.possible_leases.first();
    let both = one.possible_leases.first().zip(theirs);
    both.is_none_or(|(mine, theirs)| {
        mine.from_ns == one.begin_ns && theirs.from_ns == other.begin_ns && mine.overlaps(*theirs)
    })
}
