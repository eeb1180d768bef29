//! The tries of an attempt, directly from the definition: an attempt may write values more than once before it is
//! granted, and its grant rests on the values of the last try. Shares no code with the checkers.

use picklock_scenarios::Phase;

use super::contents::{Place, change, command, is_lock};
use picklock_verdicts::history::{Event, EventKind};

/// A value that an attempt wrote in order to acquire the lock.
#[derive(Debug, Clone, Copy)]
struct Written<'a> {
    index: usize,
    place: Place<'a>,
    value: &'a str,
    at_ns: u64,
    expires_at_ns: u64,
}

fn grant(events: &[Event], attempt: u64) -> Option<(usize, &str)> {
    events
        .iter()
        .enumerate()
        .find_map(|(index, event)| match &event.what {
            EventKind::Granted { op, token, .. } if *op == attempt => Some((index, token.as_str())),
            _ => None,
        })
}

/// Returns all values that an attempt wrote before its grant, in order.
fn written(events: &[Event], op: u64) -> Vec<Written<'_>> {
    let until = grant(events, op).map_or(events.len(), |(index, _)| index);
    let values = (0..until).filter_map(|index| {
        let (place, value, ttl_ms, _) = change(&events[index])?;
        let by = command(&events[index])?;
        let at_ns = events[index].at_ns;
        let life_ns = |ttl_ms: i64| u64::try_from(ttl_ms).unwrap_or(0) * 1_000_000;
        let acquires = by.op == op && by.phase == Phase::Acquire;
        (acquires && is_lock(place.1, ttl_ms.is_some())).then_some(Written {
            index,
            place,
            value: value?,
            at_ns,
            expires_at_ns: ttl_ms.map_or(u64::MAX, |ttl_ms| at_ns + life_ns(ttl_ms)),
        })
    });
    values.collect()
}

/// Returns the last value in each place that the grant of an attempt can rest on.
fn granted<'a>(events: &'a [Event], op: u64) -> (Vec<Written<'a>>, bool) {
    let all = written(events, op);
    let is_last = |one: &&Written<'a>| {
        !all.iter()
            .any(|other| other.place == one.place && other.index > one.index)
    };
    let mut last: Vec<Written<'a>> = all.iter().filter(is_last).copied().collect();
    let token = grant(events, op).map_or("", |(_, token)| token);
    let is_named = last.iter().any(|one| one.value.contains(token));
    if is_named {
        last.retain(|one| one.value.contains(token));
    }
    let last_ns = last.iter().map(|one| one.at_ns).max().unwrap_or(0);
    last.retain(|one| one.expires_at_ns > last_ns);
    (last, is_named)
}

/// Returns `true` if the attempt wrote to this place before its grant, and the grant cannot rest on that value.
pub(super) fn is_of_earlier_try(events: &[Event], op: u64, place: Place<'_>) -> bool {
    let is_here = |one: &Written<'_>| one.place == place;
    written(events, op).iter().any(is_here) && !granted(events, op).0.iter().any(is_here)
}

/// Returns the last value that an attempt wrote to this place before its grant.
pub(super) fn acquired<'a>(events: &'a [Event], op: u64, place: Place<'_>) -> Option<&'a str> {
    let mut written = written(events, op).into_iter();
    written.rfind(|one| one.place == place).map(|one| one.value)
}

/// Returns the number of nodes with a value that the grant can rest on.
pub(super) fn granted_nodes(events: &[Event], op: u64) -> usize {
    let (granted, _) = granted(events, op);
    let mut nodes: Vec<usize> = granted.iter().map(|one| one.place.0).collect();
    nodes.sort_unstable();
    nodes.dedup();
    nodes.len()
}

/// Returns when the first value was written that names the token and that the grant can rest on. A value counts from
/// its first writing, as long as it was neither replaced nor over in the meantime.
pub(super) fn granted_write_ns(events: &[Event], op: u64) -> Option<u64> {
    let all = written(events, op);
    let (granted, is_named) = granted(events, op);
    let begun = granted.iter().map(|last| {
        let here: Vec<&Written<'_>> = (all.iter())
            .filter(|one| one.place == last.place && one.index <= last.index)
            .collect();
        let starts = |pair: &[&Written<'_>]| starts_try(pair[0], pair[1]);
        let start = here
            .windows(2)
            .rposition(starts)
            .map_or(0, |index| index + 1);
        here[start].at_ns
    });
    begun.min().filter(|_| is_named)
}

/// Returns the index of the event that began the last try, which wrote again in a place where the attempt had already
/// written.
pub(super) fn last_try(events: &[Event], op: u64) -> usize {
    let all = written(events, op);
    let begins = |one: &&Written<'_>| {
        let before = all
            .iter()
            .rfind(|other| other.place == one.place && other.index < one.index);
        before.is_some_and(|before| starts_try(before, one))
    };
    all.iter().rfind(begins).map_or(0, |one| one.index)
}

fn starts_try(before: &Written<'_>, now: &Written<'_>) -> bool {
    before.value != now.value || before.expires_at_ns <= now.at_ns
}
