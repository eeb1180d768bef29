//! Causes of a history without custody: what releases and faults suggest.
//!
//! They are looked for in this order: an extension of an expired lease, the clients' own leases,
//! another client's release, a fault that makes a service lose the lock. A clock that was set back is
//! no cause, and neither is the restart of a node of a quorum before the lock was acquired.

use super::evidence::Evidence;
use super::finding::ForeignRelease;
use super::verdict::Cause;
use crate::timeline::{FaultSpan, Hold, loses, ms};

/// Why two holds of one key overlap, whose lateness was looked at before; `first` is the one that
/// began first. `outlived`: all its leases were certainly over when the second began.
pub(super) fn of_overlap(
    evidence: &Evidence<'_>,
    first: &Hold,
    second: &Hold,
    outlived: bool,
) -> Cause {
    if first.shares_lease_with(second) && !share_first_leases(first, second) {
        return Cause::PhantomExtend;
    }
    if outlived {
        return Cause::OutlivedLease;
    }
    let took_it = |release: &ForeignRelease| {
        release.key == first.key
            && release.struck_ns > first.begin_ns
            && release.struck_ns < second.begin_ns
    };
    if evidence.foreign_releases().iter().any(took_it) {
        return Cause::StolenRelease;
    }
    let workers = [first.worker, second.worker];
    let from_ns = earliest_lease_ns(evidence, first);
    of_faults(evidence, from_ns, second.begin_ns, &workers)
}

/// Why a counter of tokens started again after this hold.
pub(super) fn of_lost_counter(evidence: &Evidence<'_>, before: &Hold, at_ns: u64) -> Cause {
    let from_ns = earliest_lease_ns(evidence, before);
    of_faults(evidence, from_ns, at_ns, &[before.worker])
}

/// The earliest time at which the lock can have been acquired: a lease never lasts longer than the
/// TTL. A fault before that time cannot have lost the lock.
fn earliest_lease_ns(evidence: &Evidence<'_>, hold: &Hold) -> u64 {
    let ttl_ns = ms(evidence.history.header.ttl_ms);
    hold.acquire_ns
        .max(hold.first_deadline_ns.saturating_sub(ttl_ns))
}

/// The latest fault between two times that could have lost a lock of one of these workers.
fn of_faults(evidence: &Evidence<'_>, from_ns: u64, to_ns: u64, workers: &[usize]) -> Cause {
    let nodes = evidence.history.header.nodes;
    let cause_of = |fault: &FaultSpan<'_>| match loses(fault.fault)? {
        // A node that was already dead when the lock was acquired never had it.
        Cause::LostOnRestart if fault.began_ns < from_ns => None,
        Cause::LostOnRestart if nodes > 1 => Some(Cause::QuorumErosion),
        // A node's clock that is set back keeps a key longer.
        Cause::ClockJump if fault.clock.is_some_and(|shift| shift.by_ns <= 0) => None,
        // A client's clock misleads that client.
        Cause::ClockSkew if !workers.iter().any(|worker| fault.strikes(*worker)) => None,
        cause => Some(cause),
    };
    let faults = evidence.timeline.faults().iter().rev();
    faults
        .filter(|fault| fault.struck() && fault.touches(from_ns, to_ns))
        .find_map(cause_of)
        .unwrap_or(Cause::Undetermined)
}

/// True if the leases that the two were granted with overlap, without any extension of a lease that
/// had certainly expired.
fn share_first_leases(one: &Hold, other: &Hold) -> bool {
    match (one.possible_leases.first(), other.possible_leases.first()) {
        (Some(mine), Some(theirs)) => {
            mine.from_ns == one.begin_ns
                && theirs.from_ns == other.begin_ns
                && mine.overlaps(*theirs)
        }
        _ => true,
    }
}
