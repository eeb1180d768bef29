//! Which cause a violation has, decided from its finding and the evidence.
//!
//! First the clients' own leases are looked at: where they do not overlap, a client outlived its
//! lease, or used a grant that was over. Everything else is decided by the custody: what became of
//! the first client's value on the servers (`lost_claim.rs`). Histories without custody are explained by
//! releases and faults alone (`bare_cause.rs`).
//!
//! If nothing is shown, the cause is `undetermined`. The verdict does not depend on the cause: a
//! property is violated before its cause is known.

use super::bare_cause;
use super::double_sale::{is_interleaved, overlapping_sellers};
use super::evidence::Evidence;
use super::finding::{Claim, Finding, ForeignRelease, Seen, StaleToken, Stall};
use super::lost_claim::LostClaim;
use super::verdict::Cause;
use crate::custody::{SpanEnd, ValueSpan};
use crate::timeline::{Hold, Lease, overlap};

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
        Seen::FalseClaim(claim) => of_false_claim(claim.about),
        Seen::Attempts { .. } => Cause::Undetermined,
    }
}

/// Why two holds of one key overlap; `first` is the one that began first.
fn of_overlap(evidence: &Evidence<'_>, first: &Hold, second: &Hold) -> Cause {
    let shared = first.shares_lease_with(second);
    if !shared && (evidence.arrived_late(first) || evidence.arrived_late(second)) {
        return Cause::ExpiredGrant;
    }
    let over = |leases: &[Lease]| {
        let meets = |lease: &Lease| overlap(lease.span(), second.span());
        !shared && !leases.iter().any(meets)
    };
    let outlived = over(&first.possible_leases);
    let Some(spans) = evidence.custody() else {
        return bare_cause::of_overlap(evidence, first, second, outlived);
    };
    // If a subject does not say how long its lease runs, it may have been longer than is known. Then
    // the servers decide.
    if outlived {
        return Cause::OutlivedLease;
    }
    let lost = LostClaim {
        history: evidence.history,
        spans,
        faults: evidence.faults(),
    };
    match lost.cause(first, second) {
        Cause::WrongExpiry if over(&first.leases) => Cause::OutlivedLease,
        cause => cause,
    }
}

/// Why a release took another client's lock. If it was sent before the other client was granted
/// the lock, the lock checked ownership and acted later; otherwise it did not check at all.
fn of_foreign_release(evidence: &Evidence<'_>, release: &ForeignRelease) -> Cause {
    match evidence.hold(release.owner) {
        _ if release.extended => Cause::PhantomExtend,
        Some(owner) if release.sent_ns < owner.begin_ns => Cause::Race,
        _ => Cause::StolenRelease,
    }
}

/// Why a token was not higher than an earlier one: a fault may have lost the counter.
fn of_stale_token(evidence: &Evidence<'_>, stale: &StaleToken, at_ns: u64) -> Cause {
    let Some(before) = evidence.hold_before(stale, at_ns) else {
        return Cause::Undetermined;
    };
    match evidence.custody() {
        Some(spans) => of_lost_counter(spans, before.acquire_ns, at_ns),
        None => bare_cause::of_lost_counter(evidence, before, at_ns),
    }
}

/// What took a value away between two times without a client's command.
fn of_lost_counter(spans: &[ValueSpan], from_ns: u64, to_ns: u64) -> Cause {
    let ends = spans.iter().rev();
    let mut ends = ends.filter(|span| (from_ns..=to_ns).contains(&span.until_ns));
    ends.find_map(|span| match span.end {
        SpanEnd::Evicted | SpanEnd::Flushed => Some(Cause::Evicted),
        SpanEnd::LostInRestart => Some(Cause::LostOnRestart),
        SpanEnd::LostInFailover => Some(Cause::LostOnFailover),
        _ => None,
    })
    .unwrap_or(Cause::Undetermined)
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

/// Each kind of false claim is its own cause.
fn of_false_claim(claim: Claim) -> Cause {
    match claim {
        Claim::Grant => Cause::UnbackedGrant,
        Claim::Validity | Claim::Expiry => Cause::WrongExpiry,
        Claim::Release => Cause::FalseRelease,
        Claim::Key => Cause::SharedKey,
    }
}
