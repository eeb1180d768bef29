//! Releases that report success although the value had gone before, or that report that the lock was no longer their
//! client's although they removed its value.

use picklock_scenarios::Phase;

use super::causes::{ended, last_content};
use super::claims::needed;
use super::contents::{Place, change, command, content, expires_at_ns, is_lock, places};
use super::pairs::{reports, request};
use picklock_verdicts::history::{Event, EventKind, History, KeyChange};

const MS: u64 = 1_000_000;
const SLACK_NS: u64 = 2 * MS;

/// Returns the time until which a value existed that the event `end` ended, or `u64::MAX` if it lasted to the end of
/// the history.
fn lasted_until_ns(events: &[Event], place: Place<'_>, end: Option<usize>) -> u64 {
    let expired_at_ns = expires_at_ns(events, place, end.unwrap_or(events.len())).0;
    let end_of_history_ns = events.last().map_or(0, |last| last.at_ns);
    match end {
        Some(end) if command(&events[end]).is_some() => events[end].at_ns,
        Some(end) => events[end].at_ns.min(expired_at_ns),
        None if expired_at_ns < end_of_history_ns => expired_at_ns,
        None => u64::MAX,
    }
}

/// Returns `true` if the release that the event `index` reports as successful had nothing to remove, because the value
/// had gone before it was sent.
pub(super) fn gone(history: &History, index: usize, op: u64) -> bool {
    let events = &history.events;
    let is_sent =
        |event: &Event| matches!(event.what, EventKind::Release { op: of, .. } if of == op);
    let is_granted =
        |event: &&Event| matches!(event.what, EventKind::Granted { op: of, .. } if of == op);
    let (Some((_, _, ttl_ms)), Some(granted)) =
        (request(events, op), events.iter().find(is_granted))
    else {
        return false;
    };
    let Some(sent) = events[..index].iter().rposition(is_sent) else {
        return false;
    };
    let sent_ns = events[sent].at_ns;
    if events[index].at_ns <= granted.at_ns + ttl_ms * MS {
        return false;
    }
    let (mut kept, mut any_gone) = (Vec::new(), false);
    for place in places(events) {
        for begun in 0..events.len() {
            let own = content(events, begun + 1, place).filter(|now| {
                now.begun == begun && now.author.is_some_and(|author| author.op == op)
            });
            let Some(own) = own else { continue };
            let worker = own.author.map(|author| author.worker);
            let expires = last_content(events, place, begun).is_some_and(|last| last.expires);
            if !is_lock(place.1, expires) {
                continue;
            }
            let was_set = events.iter().any(|event| {
                matches!(&event.what, EventKind::FaultBegan { nodes, clock: Some(_), .. }
                    if nodes.contains(&place.0))
            });
            if was_set {
                return false;
            }
            let end = ended(events, (place, begun));
            let by = end.and_then(|end| command(&events[end]));
            if by.is_some_and(|by| Some(by.worker) == worker) {
                return false;
            }
            let until_ns = lasted_until_ns(events, place, end);
            // The key history does not show how the value went away.
            let unseen = end
                .and_then(|end| change(&events[end]))
                .is_some_and(|(.., why)| *why == KeyChange::Found);
            if !unseen && until_ns.saturating_add(SLACK_NS) < sent_ns {
                any_gone = true;
            } else {
                kept.push(place.0);
            }
        }
    }
    kept.sort_unstable();
    kept.dedup();
    let touches = |event: &Event| {
        command(event)
            .is_some_and(|by| by.op == op && matches!(by.phase, Phase::Release | Phase::Idle))
    };
    let mut later = events.iter().filter(|event| event.at_ns >= sent_ns);
    any_gone && kept.len() < needed(history, op) && !later.any(touches)
}

/// Returns `true` if the release that the event `index` reports as another client's removed its own client's value from
/// a quorum of the nodes, before the end of the lease and of any fault. (The faults of these histories never end.)
pub(super) fn denied(history: &History, index: usize, op: u64) -> bool {
    let events = &history.events;
    let answered_ns = events[index].at_ns;
    let is_sent =
        |event: &Event| matches!(event.what, EventKind::Release { op: of, .. } if of == op);
    let is_fault = |event: &Event| {
        matches!(event.what, EventKind::FaultBegan { .. }) && event.at_ns <= answered_ns
    };
    let reports = reports(&events[..index], op);
    let is_running = reports
        .last()
        .is_some_and(|report| report.until_ns.0 > answered_ns);
    if !events[..index].iter().any(is_sent) || events.iter().any(is_fault) || !is_running {
        return false;
    }
    let mut nodes = Vec::new();
    for place in places(events) {
        for begun in 0..events.len() {
            let is_own = content(events, begun + 1, place).is_some_and(|now| {
                now.begun == begun && now.author.is_some_and(|author| author.op == op)
            });
            let Some(end) = ended(events, (place, begun)).filter(|_| is_own) else {
                continue;
            };
            let expires = last_content(events, place, begun).is_some_and(|last| last.expires);
            let is_removed = change(&events[end]).is_some_and(|change| change.1.is_none());
            let by_release =
                command(&events[end]).is_some_and(|by| (by.op, by.phase) == (op, Phase::Release));
            if is_lock(place.1, expires) && is_removed && by_release {
                nodes.push(place.0);
            }
        }
    }
    nodes.sort_unstable();
    nodes.dedup();
    nodes.len() >= needed(history, op)
}
