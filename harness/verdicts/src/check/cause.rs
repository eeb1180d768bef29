//! Which cause a violation has, decided from its finding and the evidence.
//!
//! A cause is the best explanation that the recorded events support, looked for in this order:
//! the clients' own leases, another client's release, a fault that makes a service lose the lock.
//! If none of them is shown, the cause is `undetermined`. The verdict does not depend on it: a
//! property is violated before its cause is known.

use super::double_sale::{is_interleaved, overlapping_sellers};
use super::evidence::Evidence;
use super::finding::{Finding, ForeignRelease, Seen, StaleToken, Stall};
use super::verdict::Cause;
use crate::timeline::{FaultSpan, Hold, ms, overlap};

/// The cause of a violation.
pub(super) fn cause(finding: &Finding, evidence: &Evidence<'_>) -> Cause {
    match &finding.seen {
        Seen::Overlap { earlier, later } => match evidence.pair(*earlier, *later) {
            Some((first, second)) => of_overlap(evidence, first, second),
            None => Cause::Undetermined,
        },
        Seen::WrongStock(stock) => match overlapping_sellers(evidence, stock, finding.at_ns) {
            Some((first, second)) => of_overlap(evidence, first, second),
            None if is_interleaved(evidence, stock.key) => Cause::Race,
            None => Cause::Undetermined,
        },
        Seen::ForeignRelease(release) => of_foreign_release(evidence, release),
        Seen::StaleToken(stale) => of_stale_token(evidence, stale, finding.at_ns),
        Seen::Stall(stall) => of_stall(stall),
        Seen::Attempts { .. } => Cause::Undetermined,
    }
}

/// Why two holds of one key overlap; `first` is the one that began first.
fn of_overlap(evidence: &Evidence<'_>, first: &Hold, second: &Hold) -> Cause {
    let shared = first.shares_lease_with(second);
    if !shared && (evidence.arrived_late(first) || evidence.arrived_late(second)) {
        return Cause::ExpiredGrant;
    }
    if shared && !share_first_leases(first, second) {
        return Cause::PhantomExtend;
    }
    // The client may have held it for longer than it certainly did. Then nobody knows.
    let outlived = !shared
        && !(first.possible_leases.iter()).any(|lease| overlap(lease.span(), second.span()));
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

/// True if the leases that the two were granted with overlap, without any extension of a lease that
/// had certainly expired.
fn share_first_leases(first: &Hold, second: &Hold) -> bool {
    match (
        first.possible_leases.first(),
        second.possible_leases.first(),
    ) {
        (Some(mine), Some(theirs)) => {
            mine.from_ns == first.begin_ns
                && theirs.from_ns == second.begin_ns
                && mine.overlaps(*theirs)
        }
        _ => true,
    }
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
    let cause_of = |fault: &FaultSpan<'_>| match fault.fault {
        "failover" => Some(Cause::LostOnFailover),
        // A node that was already dead when the lock was acquired never had it.
        "crash-node" if fault.began_ns < from_ns => None,
        "crash-node" if nodes <= 1 => Some(Cause::LostOnRestart),
        "crash-node" => Some(Cause::QuorumErosion),
        "clock-jump" => Some(Cause::ClockJump),
        "clock-skew" if workers.iter().any(|worker| fault.strikes(*worker)) => {
            Some(Cause::ClockSkew)
        }
        "evict" | "flush-all" => Some(Cause::Evicted),
        _ => None,
    };
    let faults = evidence.faults().iter().rev();
    faults
        .filter(|fault| fault.touches(from_ns, to_ns))
        .find_map(cause_of)
        .unwrap_or(Cause::Undetermined)
}

/// Why a release took another client's lock. If it was sent before the other client was granted
/// the lock, the lock checked ownership and acted later; otherwise it did not check at all.
fn of_foreign_release(evidence: &Evidence<'_>, release: &ForeignRelease) -> Cause {
    match evidence.hold(release.owner) {
        Some(owner) if release.sent_ns < owner.begin_ns => Cause::Race,
        _ => Cause::StolenRelease,
    }
}

/// Why a token was not higher than an earlier one: a fault may have lost the counter.
fn of_stale_token(evidence: &Evidence<'_>, stale: &StaleToken, at_ns: u64) -> Cause {
    match evidence.hold_before(stale, at_ns) {
        Some(before) => {
            let from_ns = earliest_lease_ns(evidence, before);
            of_faults(evidence, from_ns, at_ns, &[before.worker])
        }
        None => Cause::Undetermined,
    }
}

/// Why a free lock was not granted.
fn of_stall(stall: &Stall) -> Cause {
    match stall.doubt {
        _ if stall.has_unexpiring_key => Cause::NoTtl,
        // What that attempt left should have expired long ago, so something keeps renewing it.
        Some(_) => Cause::AmbiguousAcquire,
        None => Cause::Undetermined,
    }
}
