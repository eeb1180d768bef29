//! Answers that the custody contradicts: an extension that was refused although the lock was still its client's, and a
//! release that is said to have given back what was gone.
//!
//! "You have it no longer" was said, and the client's own value had stood all the time, on as many nodes as matter,
//! with time left. What a fault, a harness or a server that stood still may have kept from the lock is not counted.
//!
//! "You had it until now" was said, and the client's own value had gone before, and the release removed nothing. One
//! that removes another client's value is a question of ownership.

use picklock_scenarios::Phase;

use crate::custody::{SpanEnd, ValueSpan};
use crate::history::{EventKind, History, KeyChange};
use crate::timeline::{FaultSpan, Hold, HoldEnd, Timeline, ms};

use super::promised_renewal::is_disturbed;

/// When this holder's extension was refused without need. `own`: the values of its attempt. `None`: none was.
pub(super) fn refused_ns(
    timeline: &Timeline<'_>,
    own: &[&ValueSpan],
    hold: &Hold,
    quorum: usize,
) -> Option<u64> {
    refusals(timeline.history(), hold.op).find_map(|(asked_ns, refused_ns)| {
        // What is over so soon was about to end.
        let until_ns = refused_ns.saturating_add(hold.ttl_ns / 10);
        let stood = |span: &&&ValueSpan| {
            span.may_be_a_claim()
                && span.from_ns <= asked_ns
                && span.stands_at(refused_ns)
                && span.due_ns(refused_ns) > until_ns
        };
        let mut nodes: Vec<usize> = own.iter().filter(stood).map(|span| span.node).collect();
        nodes.sort_unstable();
        nodes.dedup();
        let enough = nodes.len() >= quorum;
        (enough && !is_disturbed(timeline, hold, refused_ns)).then_some(refused_ns)
    })
}

/// When each extension of this attempt was asked for that was refused, and when that was said.
fn refusals(history: &History, op: u64) -> impl Iterator<Item = (u64, u64)> {
    let mut asked_ns = None;
    history.events.iter().filter_map(move |event| {
        if event.what.attempt()?.1 != op {
            return None;
        }
        match event.what {
            EventKind::Extend { .. } => {
                asked_ns = Some(event.at_ns);
                None
            }
            EventKind::ExtendRefused { .. } => Some((asked_ns.take()?, event.at_ns)),
            _ => None,
        }
    })
}

/// When a release of this hold was said to have given back what was gone: by so much, nanoseconds. `None`: it was not.
pub(super) fn gone_ns(
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
    let own = own.iter().filter(|span| span.may_be_a_claim());
    // Lives are counted in whole milliseconds.
    let gone = |span: &&ValueSpan| span.until_ns.saturating_add(ms(2)) < sent_ns;
    let is_kept =
        |span: &ValueSpan| matches!(span.end, SpanEnd::Stays | SpanEnd::Unseen) || !gone(&span);
    let by_itself = |span: &ValueSpan| span.end.by().is_some_and(|by| by.worker == hold.worker);
    let mut kept: Vec<usize> = Vec::new();
    let mut gone_ns = None;
    for span in own {
        if by_itself(span) {
            return None;
        }
        // When a value ends on a node whose clock was set is not known so well.
        let was_set =
            |fault: &FaultSpan<'_>| fault.clock.is_some() && fault.nodes.contains(&span.node);
        if timeline.faults().iter().any(was_set) {
            return None;
        }
        match is_kept(span) {
            true => kept.push(span.node),
            false => gone_ns = gone_ns.max(Some(span.until_ns)),
        }
    }
    kept.sort_unstable();
    kept.dedup();
    let gone_ns = gone_ns.filter(|_| kept.len() < quorum)?;
    let changes = |what: &EventKind| match what {
        EventKind::KeyChanged {
            why: KeyChange::Command(by),
            ..
        } => by.is_of(hold.worker, hold.op) && matches!(by.phase, Phase::Release | Phase::Idle),
        _ => false,
    };
    let mut later = history.events.iter().filter(|event| event.at_ns >= sent_ns);
    let removed = later.any(|event| changes(&event.what));
    (!removed).then_some((said.at_ns, sent_ns - gone_ns))
}
