//! Answers that the key history contradicts.
//!
//! - An extension was refused, although the client's own value had existed all the time on a quorum of the nodes, with
//!   time left. It does not count if a fault or a stall may be the reason.
//! - A release reported success, although the client's own value had gone before and the release removed nothing. A
//!   release that removes another client's value is judged by the property `ownership`.
//! - A release reported that the lock was no longer its client's, although the release itself had removed the client's
//!   value, and the lease was running. It does not count if a reply may have been late or lost.

use std::collections::HashSet;

use picklock_scenarios::Phase;

use crate::history::{Event, EventKind, History, KeyChange};
use crate::key_history::{SpanEnd, ValueSpan};
use crate::timeline::{EXPIRY_SLACK_NS, FaultSpan, Hold, HoldEnd, Timeline};

use crate::check::claims::promised_renewal::is_disturbed;
use crate::check::stalls::disturbances::Disturbances;
use crate::check::stalls::thresholds::ENDING_ANYWAY;

/// Returns when an extension of this holder was refused although the lock could have granted it, or `None` if there was
/// no such refusal. `own` contains the values of its attempt.
pub(in crate::check) fn refused_ns(
    timeline: &Timeline<'_>,
    own: &[&ValueSpan],
    hold: &Hold,
    quorum: usize,
) -> Option<u64> {
    refusals(timeline.history(), hold.op).find_map(|(requested_at_ns, refused_ns)| {
        let until_ns = refused_ns.saturating_add(ENDING_ANYWAY.part_of(hold.ttl_ns));
        let is_lasting = |span: &&&ValueSpan| {
            span.may_be_lock_value()
                && span.from_ns <= requested_at_ns
                && span.exists_at(refused_ns)
                && span.due_ns(refused_ns) > until_ns
        };
        let lasting = own.iter().filter(is_lasting);
        let nodes: HashSet<usize> = lasting.map(|span| span.node).collect();
        let is_quorum = nodes.len() >= quorum;
        (is_quorum && !is_disturbed(timeline, hold, (hold.acquire_ns, refused_ns)))
            .then_some(refused_ns)
    })
}

/// Returns when each refused extension of this attempt was requested, and when it was refused.
fn refusals(history: &History, op: u64) -> impl Iterator<Item = (u64, u64)> {
    let mut requested_at_ns = None;
    history.events.iter().filter_map(move |event| {
        if event.what.attempt()?.1 != op {
            return None;
        }
        match event.what {
            EventKind::Extend { .. } => {
                requested_at_ns = Some(event.at_ns);
                None
            }
            EventKind::ExtendRefused { .. } => Some((requested_at_ns.take()?, event.at_ns)),
            _ => None,
        }
    })
}

/// Returns when a release reported success although the value was gone, and how long it had been gone, in nanoseconds.
/// Returns `None` if there was no such release.
pub(in crate::check) fn gone_ns(
    timeline: &Timeline<'_>,
    own: &[&ValueSpan],
    hold: &Hold,
    quorum: usize,
) -> Option<(u64, u64)> {
    let history = timeline.history();
    let mut events = history.events.iter();
    let answer = events.find(|event| {
        matches!(event.what, EventKind::Released { op, released: Some(true), .. } if op == hold.op)
    })?;
    // If the lease was still running, the server lost the value, and the lock is not to blame.
    if answer.at_ns <= hold.begin_ns.saturating_add(hold.ttl_ns) {
        return None;
    }
    let sent_ns = (hold.ended == HoldEnd::Released).then_some(hold.end_ns)?;
    let is_there = |span: &ValueSpan| {
        matches!(span.end, SpanEnd::Stays | SpanEnd::Unseen)
            || span.until_ns.saturating_add(EXPIRY_SLACK_NS) >= sent_ns
    };
    let mut kept = HashSet::new();
    let mut gone_ns = None;
    for span in own.iter().filter(|span| span.may_be_lock_value()) {
        let by_own_client = span.end.by().is_some_and(|by| by.worker == hold.worker);
        // If a fault changed the clock of the node, the end of the value is not known precisely enough.
        let sets_clock =
            |fault: &FaultSpan<'_>| fault.clock.is_some() && fault.nodes.contains(&span.node);
        if by_own_client || timeline.faults().iter().any(sets_clock) {
            return None;
        }
        if is_there(span) {
            kept.insert(span.node);
        } else {
            gone_ns = gone_ns.max(Some(span.until_ns));
        }
    }
    let gone_ns = gone_ns.filter(|_| kept.len() < quorum)?;
    let removes = |event: &Event| match &event.what {
        EventKind::KeyChanged {
            why: KeyChange::Command(by),
            ..
        } => by.is_of(hold.worker, hold.op) && matches!(by.phase, Phase::Release | Phase::Idle),
        _ => false,
    };
    let mut later = history.events.iter().filter(|event| event.at_ns >= sent_ns);
    (!later.any(removes)).then_some((answer.at_ns, sent_ns - gone_ns))
}

/// Returns `true` if a release that reported at `answered_ns` that the lock was no longer its client's had removed the
/// client's value from a quorum of the nodes. `own` contains the values of its attempt.
///
/// Without a disturbance since the request, the client has received the replies to all commands of the release. If the
/// lease was over by its own report, the answer may be true: the client no longer relied on the value.
pub(in crate::check) fn is_denied(
    disturbances: &Disturbances,
    own: &[&ValueSpan],
    hold: &Hold,
    (quorum, answered_ns): (usize, u64),
) -> bool {
    if hold.ended != HoldEnd::Released
        || hold.deadline_ns <= answered_ns
        || disturbances.overlap(hold.worker, (hold.acquire_ns, answered_ns))
    {
        return false;
    }
    let is_removed = |span: &&&ValueSpan| match &span.end {
        SpanEnd::Removed(by) => {
            span.may_be_lock_value()
                && by.is_of(hold.worker, hold.op)
                && by.phase == Phase::Release
                && (hold.end_ns..=answered_ns).contains(&span.until_ns)
        }
        _ => false,
    };
    let nodes: HashSet<usize> = own
        .iter()
        .filter(is_removed)
        .map(|span| span.node)
        .collect();
    nodes.len() >= quorum
}
