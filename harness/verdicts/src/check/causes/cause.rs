//! Which cause a violation has, decided from its finding and the evidence.
//!
//! First the clients' own leases are looked at: where they do not overlap, a client outlived its
//! lease, or used a grant that was over. Everything else is decided by the key history: what became of
//! the first client's value on the servers (`lost_ownership.rs`), of the counter of the tokens,
//! and what stood in the keys of a lock that nobody got (`blocked_lock.rs`).
//! Histories without key history are explained by releases and faults alone (`cause_from_answers.rs`).
//!
//! If nothing is shown, the cause is `undetermined`. The verdict does not depend on the cause: a
//! property is violated before its cause is known.

use std::collections::HashSet;

use picklock_scenarios::Phase;

use crate::check::causes::cause_from_answers;
use crate::check::causes::facts::{Facts, Found, Overlap, Taken};
use crate::check::causes::lost_ownership::{LostOwnership, is_off_by_its_clock};
use crate::check::finding::{Claim, Taking};
use crate::check::progress::blocked_lock::BlockedLock;
use crate::check::verdict::Cause;
use crate::history::{KeyCommand, KeyName};
use crate::key_history::{KeyHistory, SpanEnd, ValueSpan};
use crate::timeline::{Hold, Lease};

/// The cause of a violation.
pub(in crate::check) fn cause(facts: &Facts<'_>) -> Cause {
    let cause = of_found(facts);
    let Found::WrongStock {
        sellers, outside, ..
    } = &facts.found
    else {
        return cause;
    };
    let is_outlived = cause == Cause::OutlivedLease;
    match (outside, sellers) {
        // The lock kept its word: nobody shared a lease.
        (Some(outside), sellers) if sellers.is_none() || is_outlived => outside.fault.cause(),
        // It had been told that it still has the lock, and so it changed the stock.
        (_, Some(sellers)) if is_outlived && was_resumed(sellers, facts.at_ns) => {
            Cause::PhantomExtend
        }
        _ => cause,
    }
}

fn of_found(facts: &Facts<'_>) -> Cause {
    match (&facts.found, facts.key_history) {
        (Found::ForeignRelease(taken), _) => of_foreign_release(taken),
        (Found::Starvation { starvation, .. }, _) if starvation.has_unexpiring_key => Cause::NoTtl,
        (
            Found::WrongStock {
                sellers: None,
                is_interleaved: true,
                ..
            },
            _,
        ) => Cause::Race,
        (Found::Attempts { claim, holds, .. }, account) => {
            let spans = account.map_or(&[][..], |account| &account.spans);
            let is_off = |hold: &&Hold| {
                let mut own = spans.iter().filter(|span| span.is_of(hold.worker, hold.op));
                own.any(|span| is_off_by_its_clock(facts.faults, span, hold))
            };
            match claim.map_or(Cause::Undetermined, of_false_claim) {
                Cause::WrongExpiry if holds.iter().any(is_off) => Cause::ClockSkew,
                cause => cause,
            }
        }
        (_, None) => cause_from_answers::cause(facts),
        (
            Found::StaleToken {
                stale,
                before: Some(before),
                ..
            },
            Some(account),
        ) => why_lost(&account.spans, stale.highest, before, facts.at_ns),
        (
            Found::Overlap(holds)
            | Found::WrongStock {
                sellers: Some(holds),
                ..
            },
            Some(account),
        ) => of_overlap(facts, account, holds),
        (Found::Starvation { starvation, .. }, Some(account)) => {
            let (history, faults) = (facts.history, facts.faults);
            BlockedLock::new(history, faults, account, **starvation).cause()
        }
        (
            Found::Nothing
            | Found::WrongStock { sellers: None, .. }
            | Found::StaleToken { before: None, .. },
            Some(_),
        ) => Cause::Undetermined,
    }
}

/// Why two holds of one key overlap.
fn of_overlap(facts: &Facts<'_>, account: &KeyHistory, holds: &Overlap<'_>) -> Cause {
    if holds.has_expired_grant {
        return Cause::ExpiredGrant;
    }
    if holds.ran_out_unrenewed {
        return Cause::SilentLoss;
    }
    // If a lock does not say how long its lease runs, it may have been longer than is known. Then
    // the servers decide.
    if holds.is_outlived {
        return match (holds.late_loss_report, holds.late_extension_ns) {
            (true, _) => Cause::LateLossReport,
            (false, Some(_)) => Cause::LateExtension,
            (false, None) => Cause::OutlivedLease,
        };
    }
    let lost = LostOwnership {
        spans: &account.spans,
        quorum: account.nodes.quorum(holds.first.key),
        faults: facts.faults,
        holds: facts.holds,
    };
    match lost.cause(holds.first, holds.second) {
        Cause::WrongExpiry if holds.is_perhaps_outlived => Cause::OutlivedLease,
        Cause::UnbackedGrant if holds.rests_on_earlier => Cause::StaleReply,
        cause => cause,
    }
}

/// True if a lease of the first hold that was over had been extended by then, after the other client had
/// come and gone. One that was extended before the other came, and was over again, explains nothing.
fn was_resumed(holds: &Overlap<'_>, by_ns: u64) -> bool {
    let resumed = |lease: &Lease| (holds.second.end_ns..=by_ns).contains(&lease.from_ns);
    holds.first.leases.iter().any(resumed)
}

/// Why a command took another client's lock. If it was sent before the lock was the other client's,
/// the lock checked ownership and acted later; otherwise it did not check at all.
fn of_foreign_release(taken: &Taken<'_>) -> Cause {
    let release = taken.release;
    // It looked and acted at once, but not at whose it was; or it is of no release that is under way.
    let looked_once = |by: &KeyCommand| by.is_script() || by.phase != Phase::Release;
    if taken.is_same_token {
        Cause::SharedToken
    } else if release.how == Taking::Prolonged {
        Cause::ForeignRenewal
    } else if taken.is_extension {
        Cause::PhantomExtend
    } else if !taken.by.is_some_and(|(by, _)| looked_once(by)) && release.sent_ns < release.owned_ns
    {
        Cause::Race
    } else {
        Cause::StolenRelease
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
        Claim::Extension => Cause::RefusedExtension,
        Claim::Renewal => Cause::SilentLoss,
        Claim::Key => Cause::SharedKey,
    }
}

/// What took the counter away that gave this hold its token, until a time and without a client's command.
fn why_lost(spans: &[ValueSpan], token: u64, before: &Hold, to_ns: u64) -> Cause {
    let (token, from_ns) = (token.to_string(), before.acquire_ns);
    // A value that expires, or that has the lock's name, is a lock.
    let counters = || spans.iter().filter(|span| !span.may_be_lock_value());
    let places: HashSet<(usize, &KeyName)> = counters()
        .filter(|span| *span.value == *token && span.is_of(before.worker, before.op))
        .map(|span| (span.node, &span.key))
        .collect();
    let mut ends = counters().rev().filter(|span| {
        places.contains(&(span.node, &span.key)) && (from_ns..=to_ns).contains(&span.until_ns)
    });
    ends.find_map(|span| match span.end {
        SpanEnd::Evicted | SpanEnd::Flushed => Some(Cause::Evicted),
        SpanEnd::LostInRestart => Some(Cause::LostOnRestart),
        SpanEnd::LostInFailover => Some(Cause::LostOnFailover),
        _ => None,
    })
    .unwrap_or(Cause::Undetermined)
}
