//! Which cause a violation has, decided from its finding and the evidence.
//!
//! First the clients' own leases are looked at: where they do not overlap, a client outlived its
//! lease, or used a grant that was over. Everything else is decided by the custody: what became of
//! the first client's value on the servers (`lost_claim.rs`), of the counter of the tokens
//! (`lost_counter.rs`), and what stood in the keys of a lock that nobody got (`blocked_lock.rs`).
//! Histories without custody are explained by releases and faults alone (`bare_cause.rs`).
//!
//! If nothing is shown, the cause is `undetermined`. The verdict does not depend on the cause: a
//! property is violated before its cause is known.

use picklock_scenarios::Phase;

use super::bare_cause;
use super::blocked_lock;
use super::double_sale::{is_interleaved, overlapping_sellers};
use super::evidence::Evidence;
use super::finding::{Claim, Finding, ForeignRelease, Seen, StaleToken, Starvation, Taking};
use super::lost_claim::{LostClaim, is_same_token};
use super::lost_counter;
use super::verdict::Cause;
use crate::timeline::{Hold, Lease, overlap};

/// The cause of a violation.
pub(super) fn cause(finding: &Finding, evidence: &Evidence<'_>) -> Cause {
    match &finding.seen {
        Seen::Overlap { earlier, later } => match evidence.pair(*earlier, *later) {
            Some((first, second)) => of_overlap(evidence, first, second),
            None => Cause::Undetermined,
        },
        Seen::WrongStock(stock) => match overlapping_sellers(evidence, stock, finding.at_ns) {
            Some((first, second)) => match of_overlap(evidence, first, second) {
                // It had been told that it still has the lock, and so it changed the stock.
                Cause::OutlivedLease if was_resumed(first, second, finding.at_ns) => {
                    Cause::PhantomExtend
                }
                cause => cause,
            },
            None if is_interleaved(evidence, stock.key) => Cause::Race,
            None => Cause::Undetermined,
        },
        Seen::ForeignRelease(release) => of_foreign_release(evidence, release),
        Seen::StaleToken(stale) => of_stale_token(evidence, stale, finding.at_ns),
        Seen::Starvation(starvation) => of_starvation(evidence, starvation),
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
    let Some(account) = evidence.custody() else {
        return bare_cause::of_overlap(evidence, first, second, outlived);
    };
    // If a lock does not say how long its lease runs, it may have been longer than is known. Then
    // the servers decide.
    if outlived {
        return Cause::OutlivedLease;
    }
    let lost = LostClaim {
        spans: &account.spans,
        quorum: account.nodes.quorum(first.key),
        faults: evidence.timeline.faults(),
        holds: evidence.timeline.holds(),
    };
    match lost.cause(first, second) {
        Cause::WrongExpiry if over(&first.leases) => Cause::OutlivedLease,
        Cause::UnbackedGrant if evidence.rests_on_earlier(first, second) => Cause::StaleReply,
        cause => cause,
    }
}

/// True if a lease of this hold that was over had been extended by then, after the other client had
/// come and gone. One that was extended before the other came, and was over again, explains nothing.
fn was_resumed(hold: &Hold, other: &Hold, by_ns: u64) -> bool {
    let resumed = |lease: &Lease| (other.end_ns..=by_ns).contains(&lease.from_ns);
    hold.leases.iter().any(resumed)
}

/// Why a release took another client's lock. If it was sent before the lock was the other client's,
/// the lock checked ownership and acted later; otherwise it did not check at all.
fn of_foreign_release(evidence: &Evidence<'_>, release: &ForeignRelease) -> Cause {
    let by = evidence.taken_by(release);
    let spans = evidence.custody().map_or(&[][..], |account| &account.spans);
    if by.is_some_and(|(by, span)| is_same_token(spans, by, span)) {
        Cause::SharedToken
    } else if release.how == Taking::Prolonged {
        Cause::ForeignRenewal
    } else if evidence.is_extension(release) {
        Cause::PhantomExtend
    } else if by.is_some_and(|(by, _)| by.is_script() || by.phase != Phase::Release) {
        // It looked and acted at once, but not at whose it was; or it is of no release that is under way.
        Cause::StolenRelease
    } else if release.sent_ns < release.owned_ns {
        Cause::Race
    } else {
        Cause::StolenRelease
    }
}

/// Why a token was not higher than an earlier one: a fault may have lost the counter.
fn of_stale_token(evidence: &Evidence<'_>, stale: &StaleToken, at_ns: u64) -> Cause {
    let Some(before) = evidence.hold_before(stale, at_ns) else {
        return Cause::Undetermined;
    };
    match evidence.custody() {
        Some(account) => {
            lost_counter::cause(&account.spans, stale.highest, before.acquire_ns, at_ns)
        }
        None => bare_cause::of_lost_counter(evidence, before, at_ns),
    }
}

/// Why a free lock was not granted.
fn of_starvation(evidence: &Evidence<'_>, starvation: &Starvation) -> Cause {
    if starvation.has_unexpiring_key {
        return Cause::NoTtl;
    }
    match (evidence.custody(), starvation.doubt) {
        (Some(account), _) => blocked_lock::cause(evidence.history, account, starvation),
        // What that attempt left should have expired long ago, so something keeps renewing it.
        (None, Some(_)) => Cause::AmbiguousAcquire,
        (None, None) => Cause::Undetermined,
    }
}

/// Each kind of false claim is its own cause.
fn of_false_claim(claim: Claim) -> Cause {
    match claim {
        Claim::Grant => Cause::UnbackedGrant,
        Claim::Validity | Claim::Expiry => Cause::WrongExpiry,
        Claim::EarlierReply => Cause::StaleReply,
        Claim::Elapsed => Cause::WrongElapsed,
        Claim::Refusal => Cause::AmbiguousAcquire,
        Claim::Release => Cause::FalseRelease,
        Claim::Renewal => Cause::SilentLoss,
        Claim::Key => Cause::SharedKey,
    }
}
