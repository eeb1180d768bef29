//! Decides the cause of a violation from its finding and the evidence.
//!
//! The clients' own leases are examined first: if they do not overlap, a client outlived its lease, or used a grant
//! that had expired. The key history decides everything else: how the first client's value disappeared from the servers
//! (`lost_ownership.rs`), how the token counter disappeared, and which values blocked a lock that no client got
//! (`blocked_lock.rs`). Without key history, only releases and faults explain a violation (`cause_from_answers.rs`).
//!
//! If the evidence shows no cause, it is `undetermined`. The verdict does not depend on the cause: a property is
//! violated before its cause is known.

use std::collections::HashSet;

use picklock_scenarios::{LockKind, Phase};

use crate::check::causes::cause_from_answers;
use crate::check::causes::ending_command::{is_unrequested_removal, took_after_removal};
use crate::check::causes::facts::{Facts, Overlap, ResolvedObservation, Taken};
use crate::check::causes::lost_ownership::LostOwnership;
use crate::check::causes::permits;
use crate::check::causes::ticks;
use crate::check::causes::wrong_clock::is_off_by_its_clock;
use crate::check::finding::{Claim, Taking};
use crate::check::progress::blocked_lock::BlockedLock;
use crate::check::verdict::Cause;
use crate::history::{KeyCommand, KeyName};
use crate::key_history::{KeyHistory, SpanEnd, ValueSpan};
use crate::timeline::{Hold, Lease};

/// Returns the cause of a violation.
pub(in crate::check) fn cause(facts: &Facts<'_>) -> Cause {
    let cause = cause_of_finding(facts);
    let ResolvedObservation::WrongStock {
        sellers, outside, ..
    } = &facts.about
    else {
        return cause;
    };
    let is_outlived = cause == Cause::OutlivedLease;
    match (outside, sellers) {
        // The lock kept its promise: no two clients shared a lease.
        (Some(outside), sellers) if sellers.is_none() || is_outlived => outside.fault.cause(),
        // The client changed the stock because an extension had confirmed that it still holds the lock.
        (_, Some(sellers)) if is_outlived && was_resumed(sellers, facts.at_ns) => {
            Cause::PhantomExtend
        }
        _ => cause,
    }
}

/// Returns the cause that the finding alone suggests. [`cause`] corrects it for a stock.
fn cause_of_finding(facts: &Facts<'_>) -> Cause {
    match (&facts.about, facts.key_history) {
        (ResolvedObservation::ForeignTaking(taken), _) => cause_of_foreign_taking(facts, taken),
        (ResolvedObservation::ClientDeath(_), _) => Cause::ClientDied,
        (ResolvedObservation::Deadlock(_), _) => Cause::Deadlock,
        (ResolvedObservation::Starvation { starvation, .. }, _)
            if starvation.has_unexpiring_key =>
        {
            Cause::NoTtl
        }
        (ResolvedObservation::Starvation { starvation, .. }, _) if starvation.late_timeout => {
            Cause::LateTimeout
        }
        (
            ResolvedObservation::WrongStock {
                sellers: None,
                is_interleaved: true,
                ..
            },
            _,
        ) => Cause::Race,
        (
            ResolvedObservation::Attempts {
                claim, ops, holds, ..
            },
            _,
        ) => cause_of_claim(facts, *claim, ops, holds),
        (_, None) => cause_from_answers::cause(facts),
        (
            ResolvedObservation::StaleToken {
                stale,
                before: Some(before),
                ..
            },
            Some(key_history),
        ) => cause_of_lost_counter(&key_history.spans, stale.highest, before, facts.at_ns),
        (
            ResolvedObservation::Overlap(holds)
            | ResolvedObservation::WrongStock {
                sellers: Some(holds),
                ..
            },
            Some(key_history),
        ) => cause_of_overlap(facts, key_history, holds),
        (ResolvedObservation::Starvation { starvation, .. }, Some(key_history))
            if facts.history.header.capacity > 1 =>
        {
            let (history, holds) = (facts.history, facts.holds);
            let lock = BlockedLock::new(history, facts.faults, key_history, **starvation);
            let has_asked = lock.sleep().is_none();
            permits::cause_of_starvation(history, key_history, holds, starvation, has_asked)
                // The other causes need a single value that blocks every client.
                .or_else(|| Some(lock.cause()).filter(|cause| *cause == Cause::LostWakeUp))
                .unwrap_or(Cause::Undetermined)
        }
        (ResolvedObservation::Starvation { starvation, .. }, Some(key_history)) => {
            let (history, faults) = (facts.history, facts.faults);
            BlockedLock::new(history, faults, key_history, **starvation).cause()
        }
        (
            ResolvedObservation::Nothing
            | ResolvedObservation::WrongStock { sellers: None, .. }
            | ResolvedObservation::StaleToken { before: None, .. },
            Some(_),
        ) => Cause::Undetermined,
    }
}

/// Returns why a claim is false.
fn cause_of_claim(facts: &Facts<'_>, claim: Option<Claim>, ops: &[u64], holds: &[&Hold]) -> Cause {
    match (claim, facts.key_history) {
        (Some(Claim::Capacity), Some(key_history)) => {
            return permits::cause_of_surplus(facts.history, key_history, facts.at_ns);
        }
        (Some(Claim::Rerun), Some(key_history)) if holds.len() == 2 => {
            let lost = lost_ownership(facts, key_history, holds[0].lock);
            let cause = lost.cause(holds[0], holds[1]);
            return ticks::cause_of_rerun(key_history, [holds[0], holds[1]], cause);
        }
        (Some(Claim::Tick), Some(key_history)) => {
            return ticks::cause_of_skipped_tick(facts.history, key_history, ops, facts.at_ns);
        }
        (Some(Claim::Turn), key_history) => {
            let writer = ops.first().copied().unwrap_or(0);
            let (history, overtaken) = (facts.history, (writer, facts.at_ns));
            return permits::cause_of_overtaking(history, key_history, facts.holds, overtaken);
        }
        _ => {}
    }
    let spans = facts.key_history.map_or(&[][..], |known| &known.spans);
    let is_off = |hold: &&&Hold| {
        let mut own = spans.iter().filter(|span| span.is_of(hold.worker, hold.op));
        own.any(|span| is_off_by_its_clock(facts.faults, span, hold, facts.at_ns))
    };
    match claim.map_or(Cause::Undetermined, cause_of_false_claim) {
        Cause::WrongExpiry if holds.iter().any(|hold| is_off(&hold)) => Cause::ClockSkew,
        cause => cause,
    }
}

/// Returns why two holds of one key overlap. If a grant had no value on the servers at all, that is the cause, whatever
/// its client did afterwards.
fn cause_of_overlap(facts: &Facts<'_>, key_history: &KeyHistory, holds: &Overlap<'_>) -> Cause {
    if let Some(cause) = holds.unbacked {
        return cause;
    }
    if holds.has_expired_grant {
        return Cause::ExpiredGrant;
    }
    if holds.phantom_ns.is_some() {
        return Cause::PhantomLeader;
    }
    if holds.is_silent_loss {
        return Cause::SilentLoss;
    }
    // If a lock does not report how long its lease runs, the lease may have been longer than is known. Then the key
    // history decides the cause.
    if holds.is_outlived {
        return match (holds.late_loss_report, holds.late_extension_ns) {
            (true, _) => Cause::LateLossReport,
            (false, Some(_)) => Cause::LateExtension,
            (false, None) => Cause::OutlivedLease,
        };
    }
    let both = (holds.first, holds.second);
    let lost = lost_ownership(facts, key_history, holds.first.lock).cause(both.0, both.1);
    // A semaphore may count its permits and also keep their holders. Only the holders show that a clock was wrong.
    let is_of_clocks = matches!(lost, Cause::ClockSkew | Cause::ClockJump);
    if !is_of_clocks
        && let Some(cause) = permits::cause_of_count(facts.history, key_history, facts.holds, both)
    {
        return cause;
    }
    match lost {
        Cause::WrongExpiry if holds.is_perhaps_outlived => Cause::OutlivedLease,
        Cause::NotExclusive
            if facts.history.header.kind == LockKind::Rwlock
                && holds.first.weight != holds.second.weight =>
        {
            Cause::TornRead
        }
        cause => cause,
    }
}

/// Returns `true` if an expired lease of the first hold was extended after the other client had come and gone, and no
/// later than `by_ns`. A lease that was extended before the other client came, and expired again, does not count.
fn was_resumed(holds: &Overlap<'_>, by_ns: u64) -> bool {
    let resumed = |lease: &Lease| (holds.second.end_ns..=by_ns).contains(&lease.from_ns);
    holds.first.leases.iter().any(resumed)
}

/// Returns why a command took another client's lock. If the release was sent before the other client owned the lock,
/// the lock checked ownership and acted later; otherwise it did not check at all.
fn cause_of_foreign_taking(facts: &Facts<'_>, taken: &Taken<'_>) -> Cause {
    let taking = taken.taking;
    // Either a script checked and acted at once but did not compare the owner, or the command does not belong to an
    // active release.
    let is_no_race = |by: &KeyCommand| by.is_script() || by.phase != Phase::Release;
    if taken.is_same_token {
        return Cause::SharedToken;
    }
    if taking.how == Taking::Prolonged {
        return Cause::ForeignRenewal;
    }
    if taken.is_extension {
        return Cause::PhantomExtend;
    }
    let place = (taking.lock, taking.took_effect_ns);
    let is_unrequested =
        |by: &KeyCommand| is_unrequested_removal(facts.history, facts.holds, by, place);
    if taken.by.is_some_and(|(by, _)| is_unrequested(by)) {
        return Cause::ForeignRemoval;
    }
    // A client that removes the value and then takes the lock itself has taken the lock over.
    if let (Some((by, span)), Some(owner)) = (taken.by, taken.owner_hold)
        && by.phase == Phase::Acquire
        && let Some(key_history) = facts.key_history
        && took_after_removal(&key_history.spans, by, span)
    {
        return lost_ownership(facts, key_history, taking.lock).cause_of_takeover(by, span, owner);
    }
    if !taken.by.is_some_and(|(by, _)| is_no_race(by)) && taking.sent_ns < taking.owned_ns {
        Cause::Race
    } else {
        Cause::StolenRelease
    }
}

/// Returns the evidence about the attempts on one key.
fn lost_ownership<'a>(
    facts: &'a Facts<'_>,
    key_history: &'a KeyHistory,
    lock: u32,
) -> LostOwnership<'a> {
    LostOwnership {
        spans: &key_history.spans,
        quorum: key_history.nodes.quorum(lock),
        faults: facts.faults,
        holds: facts.holds,
        history: facts.history,
    }
}

/// Returns the cause for a kind of false claim.
fn cause_of_false_claim(claim: Claim) -> Cause {
    match claim {
        Claim::Grant => Cause::UnbackedGrant,
        Claim::Validity | Claim::Expiry => Cause::WrongExpiry,
        Claim::EarlierReply => Cause::StaleReply,
        Claim::Elapsed => Cause::WrongElapsed,
        Claim::Refusal => Cause::AmbiguousAcquire,
        Claim::Release => Cause::FalseRelease,
        Claim::SilentRelease => Cause::SilentRelease,
        Claim::Loss => Cause::FalseLoss,
        Claim::Recreation => Cause::PhantomExtend,
        Claim::Extension => Cause::RefusedExtension,
        Claim::Renewal => Cause::SilentLoss,
        Claim::Key => Cause::SharedKey,
        Claim::Capacity => Cause::PermitMinted,
        Claim::Turn => Cause::WriterStarved,
        Claim::Rerun => Cause::RanTwice,
        Claim::Tick => Cause::SkippedTick,
    }
}

/// Returns why the counter that gave `before` its token was lost by `to_ns`, if no client's command removed it.
fn cause_of_lost_counter(spans: &[ValueSpan], token: u64, before: &Hold, to_ns: u64) -> Cause {
    let (token_text, from_ns) = (token.to_string(), before.acquire_ns);
    let is_of = |span: &&ValueSpan| span.is_of(before.worker, before.op);
    let is_counted = |span: &&ValueSpan| *span.value == *token_text && is_of(span);
    // A key with a lock's name holds lock values. A counter may expire. But a value that expires may also be the lock
    // value, unless the grant's own token is in another key.
    let beside = spans
        .iter()
        .filter(is_of)
        .any(|span| *span.value == *before.token);
    let may_count = |span: &&ValueSpan| match &span.key {
        KeyName::Other(_) => span.expiry.is_none() || (beside && *token_text != *before.token),
        _ => !span.may_be_lock_value(),
    };
    let counters = spans.iter().filter(may_count).filter(is_counted);
    let places: HashSet<(usize, &KeyName)> = counters.map(|span| (span.node, &span.key)).collect();
    let mut ends = spans.iter().rev().filter(|span| {
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
