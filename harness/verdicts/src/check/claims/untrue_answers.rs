//! Answers that the key history contradicts: an extension that was refused although the lock was still its client's, and a
//! release that is said to have given back what was gone.
//!
//! "You have it no longer" was said, and the client's own value had stood all the time, on as many nodes as matter,
//! with time left. What a fault, a harness or a server that stood still may have kept from the lock is not counted.
//!
//! "You had it until now" was said, and the client's own value had gone before, and the release removed nothing. One
//! that removes another client's value is a question of ownership.

use std::collections::HashSet;

use picklock_scenarios::Phase;

use crate::history::{Event, EventKind, History, KeyChange};
use crate::key_history::{SpanEnd, ValueSpan};
use crate::timeline::{FaultSpan, Hold, HoldEnd, Timeline, ms};

use crate::check::claims::promised_renewal::is_disturbed;

/// When this holder's extension was refused without need. `own`: the values of its attempt. `None`: none was.
pub(in crate::check) fn refused_ns(
    timeline: &Timeline<'_>,
    own: &[&ValueSpan],
    hold: &Hold,
    quorum: usize,
) -> Option<u64> {
    refusals(timeline.history(), hold.op).find_map(|(requested_at_ns, refused_ns)| {
        // What is over so soon was about to end.
        let until_ns = refused_ns.saturating_add(hold.ttl_ns / 10);
        let stood = |span: &&&ValueSpan| {
            span.may_be_lock_value()
                && span.from_ns <= requested_at_ns
                && span.exists_at(refused_ns)
                && span.due_ns(refused_ns) > until_ns
        };
        let nodes: HashSet<usize> = own.iter().filter(stood).map(|span| span.node).collect();
        let enough = nodes.len() >= quorum;
        (enough && !is_disturbed(timeline, hold, refused_ns)).then_some(refused_ns)
    })
}

/// When each extension of this attempt was asked for that was refused, and when that was said.
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

/// When a release of this hold was said to have given back what was gone: by so much, nanoseconds. `None`: it was not.
pub(in crate::check) fn gone_ns(
    timeline: &Timeline<'_>,
    own: &[&ValueSpan],
    hold: &Hold,
    quorum: usize,
) -> Option<(u64, u64)> {
    let history = timeline.history();
    let mut events = history.events.iter();
    let said = events.find(|event| {
        matches!(event.what, EventKind::Released { op, released: Some(true), .. } if op == hold.op)
    })?;
    // Within the lease it is a question of what the server lost.
    if said.at_ns <= hold.begin_ns.saturating_add(hold.ttl_ns) {
        return None;
    }
    let sent_ns = (hold.ended == HoldEnd::Released).then_some(hold.end_ns)?;
    // Lives are counted in whole milliseconds.
    let is_saved = |span: &ValueSpan| {
        matches!(span.end, SpanEnd::Stays | SpanEnd::Unseen)
            || span.until_ns.saturating_add(ms(2)) >= sent_ns
    };
    let mut kept = HashSet::new();
    let mut gone_ns = None;
    for span in own.iter().filter(|span| span.may_be_lock_value()) {
        let by_itself = span.end.by().is_some_and(|by| by.worker == hold.worker);
        // When a value ends on a node whose clock was set is not known so well.
        let was_set =
            |fault: &FaultSpan<'_>| fault.clock.is_some() && fault.nodes.contains(&span.node);
        if by_itself || timeline.faults().iter().any(was_set) {
            return None;
        }
        match is_saved(span) {
            true => _ = kept.insert(span.node),
            false => gone_ns = gone_ns.max(Some(span.until_ns)),
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
    (!later.any(removes)).then_some((said.at_ns, sent_ns - gone_ns))
}
