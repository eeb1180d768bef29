//! Which cause a violation has: what the history shows, or `undetermined`.
//!
//! A cause is the best explanation that the recorded events support, in this order: the clients'
//! own leases, then another's release, then a fault that makes a service forget. A property is
//! never called violated because of a cause; the verdict is there before it is explained.

use std::collections::HashSet;

use crate::history::What;
use crate::timeline::{FaultSpan, Hold, Lease, forgets, ms};

use super::evidence::Evidence;
use super::fencing::StaleToken;
use super::ownership::Theft;
use super::resource::Oversale;
use super::verdict::Cause;

/// Why two holds of one key overlap; `first` is the one that began first.
pub(super) fn of_overlap(evidence: &Evidence<'_>, first: &Hold, second: &Hold) -> Cause {
    let shared = first.shares_lease_with(second);
    if !shared && (arrived_late(evidence, first) || arrived_late(evidence, second)) {
        return Cause::ExpiredGrant;
    }
    if shared && !share_first_leases(first, second) {
        return Cause::PhantomExtend;
    }
    let outlived = !shared && !first.leases.iter().any(|lease| meets(lease, second));
    // The lease of one who said nothing and waited may have run for longer than is known, so
    // whatever else explains the overlap comes first.
    if outlived && !first.leases.is_empty() {
        return Cause::OutlivedLease;
    }
    let stolen = |theft: &Theft| {
        theft.key == first.key
            && theft.struck_ns > first.begin_ns
            && theft.struck_ns < second.begin_ns
    };
    if evidence.thefts().iter().any(stolen) {
        return Cause::StolenRelease;
    }
    let workers = [first.worker, second.worker];
    match of_faults(
        evidence,
        taken_ns(evidence, first),
        second.begin_ns,
        &workers,
    ) {
        Cause::Undetermined if outlived => Cause::OutlivedLease,
        cause => cause,
    }
}

fn meets(lease: &Lease, hold: &Hold) -> bool {
    lease.from_ns.max(hold.begin_ns) < lease.until_ns.min(hold.end_ns)
}

/// True when the lease had run out before the grant arrived.
///
/// A subject that says nothing about its lease, and waits for the lock by itself, is often
/// granted it later than `acquire + ttl`, with a lease that is fresh. Its grant counts as late
/// only when a fault held this worker up while it was asking.
pub(super) fn arrived_late(evidence: &Evidence<'_>, hold: &Hold) -> bool {
    let fresh = hold
        .leases
        .first()
        .is_some_and(|lease| lease.from_ns == hold.begin_ns);
    if fresh || hold.end_ns == hold.begin_ns {
        return false;
    }
    hold.told
        || !hold.could_wait
        || evidence.faults().iter().any(|fault| {
            !forgets(fault.fault)
                && fault.strikes(hold.worker)
                && fault.began_ns < hold.begin_ns
                && fault.touches(hold.acquire_ns, hold.begin_ns)
        })
}

/// True when the leases overlap that the two were granted with, extended or not.
fn share_first_leases(first: &Hold, second: &Hold) -> bool {
    match (first.leases.first(), second.leases.first()) {
        (Some(mine), Some(theirs)) => {
            mine.from_ns == first.begin_ns
                && theirs.from_ns == second.begin_ns
                && mine.overlaps(*theirs)
        }
        _ => true,
    }
}

/// The earliest time at which a lock can have been taken: a lease never lasts for longer than the
/// TTL. What struck before that cannot have lost it.
fn taken_ns(evidence: &Evidence<'_>, hold: &Hold) -> u64 {
    let ttl_ns = ms(evidence.history.header.ttl_ms);
    hold.acquire_ns
        .max(hold.first_deadline_ns.saturating_sub(ttl_ns))
}

/// The latest fault between two times that could have lost a lock of one of these workers.
fn of_faults(evidence: &Evidence<'_>, from_ns: u64, to_ns: u64, workers: &[usize]) -> Cause {
    let nodes = evidence.history.header.nodes;
    let guilty = |fault: &FaultSpan<'_>| match fault.fault {
        "failover" => Some(Cause::LostOnFailover),
        // A node that was dead already when the lock was taken never had it.
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
        .find_map(guilty)
        .unwrap_or(Cause::Undetermined)
}

/// Why a stock does not add up: as the overlap does in which it was sold twice.
pub(super) fn of_oversale(evidence: &Evidence<'_>, oversale: &Oversale) -> Cause {
    match guilty_pair(evidence, oversale) {
        Some((first, second)) => of_overlap(evidence, first, second),
        None if interleaved(evidence, oversale) => Cause::Race,
        None => Cause::Undetermined,
    }
}

/// The overlapping holds in which the stock was sold twice, if there are any.
pub(super) fn guilty_pair<'a>(
    evidence: &'a Evidence<'_>,
    oversale: &Oversale,
) -> Option<(&'a Hold, &'a Hold)> {
    let sellers: HashSet<u64> = sellers(evidence, oversale).collect();
    let of_key = || {
        let holds = evidence.holds().iter();
        holds.filter(|hold| hold.key == oversale.key && sellers.contains(&hold.op))
    };
    let seller = of_key().find(|hold| Some(hold.op) == oversale.op);
    if let Some(seller) = seller
        && let Some(other) = of_key().find(|hold| hold.op != seller.op && overlap(hold, seller))
    {
        return Some(if other.begin_ns <= seller.begin_ns {
            (other, seller)
        } else {
            (seller, other)
        });
    }
    // Not the last sale but an earlier one was the second of its unit.
    let mut longest: Option<&Hold> = None;
    for hold in of_key() {
        if let Some(before) = longest
            && overlap(before, hold)
        {
            return Some((before, hold));
        }
        if longest.is_none_or(|before| hold.end_ns > before.end_ns) {
            longest = Some(hold);
        }
    }
    None
}

fn overlap(one: &Hold, other: &Hold) -> bool {
    one.begin_ns.max(other.begin_ns) < one.end_ns.min(other.end_ns)
}

fn sellers(evidence: &Evidence<'_>, oversale: &Oversale) -> impl Iterator<Item = u64> {
    let events = evidence.history.events.iter();
    let (at_ns, of_key) = (oversale.at_ns, oversale.key);
    events.filter_map(move |event| match event.what {
        What::StockChanged { op, key, .. } if key == of_key && event.at_ns <= at_ns => Some(op),
        _ => None,
    })
}

/// True when some seller read the stock, and another changed it before the first one did.
fn interleaved(evidence: &Evidence<'_>, oversale: &Oversale) -> bool {
    let mut readers: HashSet<u64> = HashSet::new();
    let mut overtaken: HashSet<u64> = HashSet::new();
    for event in &evidence.history.events {
        match event.what {
            What::StockRead { op, key, .. } if key == oversale.key => {
                readers.insert(op);
            }
            What::StockChanged { op, key, .. } if key == oversale.key => {
                if overtaken.contains(&op) {
                    return true;
                }
                readers.remove(&op);
                overtaken.extend(&readers);
            }
            _ => {}
        }
    }
    false
}

/// Why a release took another's lock: it was sent while the lock was still its own and struck
/// after it had passed on (checked, then acted), or it never checked.
pub(super) fn of_theft(evidence: &Evidence<'_>, theft: &Theft) -> Cause {
    match evidence.hold(theft.victim) {
        Some(victim) if theft.sent_ns < victim.begin_ns => Cause::Race,
        _ => Cause::StolenRelease,
    }
}

/// Why a token was not higher than one before it: the counter was lost with the data, or else.
pub(super) fn of_stale_token(evidence: &Evidence<'_>, stale: &StaleToken) -> Cause {
    let before = evidence.holds().iter().find(|hold| {
        hold.begin_ns <= stale.at_ns && hold.op != stale.op && hold.fence == Some(stale.highest)
    });
    before.map_or(Cause::Undetermined, |before| {
        of_faults(
            evidence,
            taken_ns(evidence, before),
            stale.at_ns,
            &[before.worker],
        )
    })
}
