//! Ownership, straight from the definition: for each command the whole history is read again. Shares no
//! code with the checkers.

use picklock_scenarios::Phase;

use super::contents::{change, command, content, is_lock};
use super::pairs::{asked, words};
use picklock_verdicts::history::{Event, EventKind, History};

/// The event that granted the lock to an attempt, or the end of the history.
fn grant_of(events: &[Event], of: u64) -> Option<usize> {
    let grant = |event: &Event| matches!(event.what, EventKind::Granted { op, .. } if op == of);
    events.iter().position(grant)
}

/// Every command that took another client's lock away: when, and since when it was the other's.
fn thefts(events: &[Event]) -> Vec<u64> {
    let robbed = |index: &usize| {
        let event = &events[*index];
        let (place, _, _, _) = change(event)?;
        let by = command(event)?;
        let before = content(events, *index, place)?;
        let after = content(events, *index + 1, place);
        let author = before.author?;
        let same = after.is_some_and(|after| after.begun == before.begun);
        // A new life for the value that stays: is it longer?
        let due_ns = |ttl_ms: Option<i64>, at_ns: u64| {
            ttl_ms.map_or(u64::MAX, |ttl| at_ns + ttl.max(0) as u64 * 1_000_000)
        };
        let set_before = events[..*index]
            .iter()
            .rfind(|earlier| change(earlier).is_some_and(|(at, ..)| at == place))?;
        let ended_at_ns = due_ns(change(set_before)?.2, set_before.at_ns);
        let prolongs = same && due_ns(change(event)?.2, event.at_ns) > ended_at_ns;
        let acquires = by.phase == Phase::Acquire;
        // The removal may be how the lock is taken over.
        let next = events[*index + 1..].iter().find(|later| {
            change(later).is_some_and(|(at, value, ..)| at == place && value.is_some())
        });
        let writes_there = next
            .and_then(command)
            .is_some_and(|other| (other.op, other.phase) == (by.op, Phase::Acquire));
        let lease_runs = runs(&events[..*index], author.op, event.at_ns);
        // Who had taken the key in this attempt, and prolongs what stands there now, renews it.
        let had_taken = (0..*index).any(|earlier| {
            command(&events[earlier])
                .is_some_and(|own| (own.op, own.phase) == (by.op, Phase::Acquire))
                && content(events, earlier + 1, place)
                    .is_some_and(|now| now.author.is_some_and(|own| own.op == by.op))
                && change(&events[earlier]).is_some_and(|(at, ..)| at == place)
        });
        let renews = same && prolongs && had_taken;
        let takes_over = acquires && !renews && (after.is_some() || writes_there || !lease_runs);
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
        (foreign && lock && own && (!same || prolongs) && !takes_over).then_some(event.at_ns)
    };
    let indices: Vec<usize> = (0..events.len()).collect();
    indices.iter().filter_map(robbed).collect()
}

/// True if the lease of an attempt certainly ran then, by what came before.
fn runs(before: &[Event], of: u64, at_ns: u64) -> bool {
    let Some((requested_at_ns, _, ttl_ms)) = asked(before, of) else {
        return false;
    };
    let worker = before.iter().find_map(|event| match event.what {
        EventKind::Acquire { worker, op, .. } if op == of => Some(worker),
        _ => None,
    });
    let asked_at = before
        .iter()
        .position(|event| matches!(event.what, EventKind::Acquire { op, .. } if op == of));
    let since = &before[asked_at.unwrap_or(0)..];
    let over = since.iter().any(|event| match event.what {
        EventKind::Refused { op, .. } | EventKind::Release { op, .. } => op == of,
        // It was asking when it died, or asks for the next.
        EventKind::Acquire {
            worker: other, op, ..
        } => Some(other) == worker && op > of,
        EventKind::WorkerDown { worker: other, .. } => {
            Some(other) == worker && grant_of(before, of).is_none()
        }
        _ => false,
    });
    let reported_at_ns = words(before, of).last().map(|word| word.until_ns.0);
    !over && at_ns < reported_at_ns.unwrap_or(requested_at_ns + ttl_ms * 1_000_000)
}

pub(super) fn ownership(history: &History) -> (u64, Option<u64>) {
    let thefts = thefts(&history.events);
    (thefts.len() as u64, thefts.iter().min().copied())
}
