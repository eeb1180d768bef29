//! Ownership, straight from the definition: for each command the whole history is read again. Shares no
//! code with the checkers.

use picklock_scenarios::Phase;

use super::contents::{change, command, content, is_lock};
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
        let takes_over = by.phase == Phase::Acquire && after.is_some();
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
        (foreign && lock && own && !same && !takes_over).then_some(event.at_ns)
    };
    let indices: Vec<usize> = (0..events.len()).collect();
    indices.iter().filter_map(robbed).collect()
}

pub(super) fn ownership(history: &History) -> (u64, Option<u64>) {
    let thefts = thefts(&history.events);
    (thefts.len() as u64, thefts.iter().min().copied())
}
