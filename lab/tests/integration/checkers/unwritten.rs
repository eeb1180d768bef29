//! Grants without any value on the servers, and how values ended, directly from the events. Shares no code with the
//! checkers.

use picklock_scenarios::Phase;

use super::causes::{ended, last_content};
use super::contents::{Place, change, command, content, expires_at_ns, places};
use super::pairs::{Hold, request};
use picklock_verdicts::history::{Event, EventKind, KeyChange};

/// Returns `true` if an attempt was granted the lock without any value on the servers: it changed no key to take the
/// lock, and no value of its client or with its token was there.
pub(super) fn is_unwritten(events: &[Event], hold: &Hold) -> bool {
    let granted = events.iter().find_map(|event| match &event.what {
        EventKind::Granted {
            op, worker, token, ..
        } if *op == hold.op => Some((*worker, token.as_str())),
        _ => None,
    });
    let Some((worker, token)) = granted else {
        return false;
    };
    let requested_ns = request(events, hold.op).map_or(0, |request| request.0);
    let doubts = doubts_before(events, worker, hold.op);
    let acquires = |event: &Event| {
        command(event).is_some_and(|by| by.op == hold.op && by.phase == Phase::Acquire)
    };
    let acted = (events.iter()).any(|event| acquires(event) && event.at_ns <= hold.begin_ns);
    let is_there = |place: &Place<'_>| {
        (0..events.len()).any(|index| {
            let Some(now) = content(events, index + 1, *place).filter(|now| now.begun == index)
            else {
                return false;
            };
            let gone_ns = until_ns(events, (*place, index));
            let from_ns = events[index].at_ns;
            let is_kept = now.author.is_some_and(|by| {
                by.worker == worker && by.op < hold.op && !doubts.contains(&by.op)
            }) && from_ns <= hold.begin_ns
                && gone_ns.is_none_or(|gone_ns| hold.begin_ns < gone_ns);
            let last = last_content(events, *place, index).map_or(now.value, |last| last.value);
            let is_named = last.contains(token)
                && from_ns <= hold.begin_ns
                && gone_ns.is_none_or(|gone_ns| gone_ns >= requested_ns);
            is_kept || is_named
        })
    };
    !acted && !places(events).iter().any(is_there)
}

/// Returns the attempts of a worker that ended without a definite answer after its last definite one, before an
/// attempt.
fn doubts_before(events: &[Event], of: usize, attempt: u64) -> Vec<u64> {
    let last = events
        .iter()
        .rposition(|event| event.what.attempt() == Some((of, attempt)));
    let mut doubts = Vec::new();
    for event in events[..last.unwrap_or(0)].iter().rev() {
        match event.what {
            EventKind::AcquireFailed {
                worker,
                op,
                definite: false,
                ..
            } if worker == of => doubts.push(op),
            EventKind::AcquireFailed { worker, .. } if worker == of => break,
            EventKind::Granted { worker, op, .. } | EventKind::Refused { worker, op }
                if worker == of && op != attempt =>
            {
                break;
            }
            _ => {}
        }
    }
    doubts
}

/// Returns when a value ended, or `None` if it was still there at the end of the history.
fn until_ns(events: &[Event], value: (Place<'_>, usize)) -> Option<u64> {
    let gone = ended(events, value);
    let expired_ns = expires_at_ns(events, value.0, gone.unwrap_or(events.len())).0;
    match gone {
        Some(gone) if command(&events[gone]).is_some() => Some(events[gone].at_ns),
        Some(gone) => Some(events[gone].at_ns.min(expired_ns)),
        None => {
            let end_ns = events.last().map_or(0, |last| last.at_ns);
            (expired_ns < end_ns).then_some(expired_ns)
        }
    }
}

/// Returns when a value ran out, or `None` if something else ended it, or nothing did.
pub(super) fn ran_out_ns(events: &[Event], value: (Place<'_>, usize)) -> Option<u64> {
    let gone = ended(events, value);
    let at_ns = until_ns(events, value)?;
    let (expired_ns, leapt) = expires_at_ns(events, value.0, gone.unwrap_or(events.len()));
    let is_command = gone.is_some_and(|gone| command(&events[gone]).is_some());
    let is_expired = gone.is_none_or(|gone| {
        let why = change(&events[gone]).map(|change| change.3);
        matches!(why, Some(KeyChange::Expired)) || expired_ns < events[gone].at_ns
    });
    (is_expired && !is_command && !leapt).then_some(at_ns)
}
