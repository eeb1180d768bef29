//! Ownership, directly from the definition: for each command the whole history is read again. Shares no code with the
//! checkers.

use picklock_scenarios::Phase;

use super::contents::{change, command, content, is_lock};
use super::pairs::{reports, request};
use picklock_verdicts::history::{Event, EventKind, History, KeyCommand};

/// Returns the index of the event that granted the lock to an attempt.
fn grant_of(events: &[Event], attempt: u64) -> Option<usize> {
    let is_grant =
        |event: &Event| matches!(event.what, EventKind::Granted { op, .. } if op == attempt);
    events.iter().position(is_grant)
}

/// Returns the time of every command that took or prolonged another client's lock.
fn thefts(events: &[Event]) -> Vec<u64> {
    let robbed = |index: &usize| {
        let event = &events[*index];
        let (place, _, _, _) = change(event)?;
        let by = command(event)?;
        let before = content(events, *index, place)?;
        let after = content(events, *index + 1, place);
        let author = before.author?;
        let same = after.is_some_and(|after| after.begun == before.begun);
        // If the value stays, the command may have extended its expiry.
        let due_ns = |ttl_ms: Option<i64>, at_ns: u64| {
            ttl_ms.map_or(u64::MAX, |ttl| at_ns + ttl.max(0) as u64 * 1_000_000)
        };
        let set_before = events[..*index]
            .iter()
            .rfind(|earlier| change(earlier).is_some_and(|(at, ..)| at == place))?;
        let expires_at_ns = due_ns(change(set_before)?.2, set_before.at_ns);
        let prolongs = same && due_ns(change(event)?.2, event.at_ns) > expires_at_ns;
        let acquires = by.phase == Phase::Acquire;
        let lease_runs = runs(&events[..*index], author.op, event.at_ns);
        // If the attempt had taken the key before and now prolongs the value in it, the command is a renewal.
        let had_taken = (0..*index).any(|earlier| {
            command(&events[earlier])
                .is_some_and(|own| (own.op, own.phase) == (by.op, Phase::Acquire))
                && content(events, earlier + 1, place)
                    .is_some_and(|now| now.author.is_some_and(|own| own.op == by.op))
                && change(&events[earlier]).is_some_and(|(at, ..)| at == place)
        });
        let renews = same && prolongs && had_taken;
        let takes_over = acquires && !renews && (after.is_some() || !lease_runs);
        let foreign = author.phase == Phase::Acquire && author.worker != by.worker;
        let lock = is_lock(place.1, before.expires);
        let written_again = |until: usize| {
            events[*index + 1..until].iter().any(|event| {
                let again = command(event)
                    .is_some_and(|again| again.op == author.op && again.phase == Phase::Acquire);
                again && change(event).is_some_and(|(at, value, ..)| at == place && value.is_some())
            })
        };
        let own = before.on_free
            || grant_of(events, author.op)
                .is_some_and(|grant| grant < *index || !written_again(grant));
        let is_taken = foreign && lock && own && (!same || prolongs) && !takes_over;
        (is_taken || lock && is_late_release(events, *index, author)).then_some(event.at_ns)
    };
    let indices: Vec<usize> = (0..events.len()).collect();
    indices.iter().filter_map(robbed).collect()
}

/// Returns `true` if a plain removal outside every request took a running value of its own client, at most a lease
/// after that client had released another hold of the lock.
fn is_late_release(events: &[Event], index: usize, author: &KeyCommand) -> bool {
    let at_ns = events[index].at_ns;
    let Some(by) = command(&events[index]) else {
        return false;
    };
    let lock_of = |op: u64| request(events, op).map(|request| request.1);
    let released = events[..index]
        .iter()
        .rev()
        .find_map(|event| match event.what {
            EventKind::Release { worker, op } if worker == by.worker => Some((op, event.at_ns)),
            _ => None,
        });
    let is_removal = change(&events[index]).is_some_and(|(_, value, ..)| value.is_none());
    is_removal
        && by.phase == Phase::Idle
        && (author.worker, author.phase) == (by.worker, Phase::Acquire)
        && released.is_some_and(|(op, released_ns)| {
            op != author.op
                && lock_of(op) == lock_of(author.op)
                && at_ns <= released_ns + 40_000_000
        })
        && runs(&events[..index], author.op, at_ns)
}

/// Returns `true` if the lease of an attempt certainly ran at `at_ns`, according to the events before.
fn runs(before: &[Event], attempt: u64, at_ns: u64) -> bool {
    let Some((requested_at_ns, _, ttl_ms)) = request(before, attempt) else {
        return false;
    };
    let worker = before.iter().find_map(|event| match event.what {
        EventKind::Acquire { worker, op, .. } if op == attempt => Some(worker),
        _ => None,
    });
    let first = before
        .iter()
        .position(|event| matches!(event.what, EventKind::Acquire { op, .. } if op == attempt));
    let since = &before[first.unwrap_or(0)..];
    let is_over = since.iter().any(|event| match event.what {
        EventKind::Refused { op, .. } | EventKind::Release { op, .. } => op == attempt,
        // The worker has a later attempt, or died before this one was granted.
        EventKind::Acquire {
            worker: other, op, ..
        } => Some(other) == worker && op > attempt,
        EventKind::WorkerDown { worker: other, .. } => {
            Some(other) == worker && grant_of(before, attempt).is_none()
        }
        _ => false,
    });
    let deadline_ns = reports(before, attempt)
        .last()
        .map(|report| report.until_ns.0);
    !is_over && at_ns < deadline_ns.unwrap_or(requested_at_ns + ttl_ms * 1_000_000)
}

pub(super) fn ownership(history: &History) -> (u64, Option<u64>) {
    let thefts = thefts(&history.events);
    (thefts.len() as u64, thefts.iter().min().copied())
}
