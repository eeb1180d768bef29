//! Values that stay although their lock reports that they are gone, directly from the definitions. Shares no code with
//! the checkers.

use picklock_scenarios::Phase;

use super::claims::{current_values, may_stay, own, wrote};
use super::contents::{Content, Place, change, command, content, expires_at_ns, is_lock, places};
use super::pairs::{reports, request};
use super::tries::acquired;
use picklock_verdicts::history::{Event, EventKind, History, KeyName};

const MS: u64 = 1_000_000;
const SLACK_NS: u64 = 2 * MS;

/// Returns `true` if a release that reported success left so many values that no other client can get the lock: its
/// own or, if there are none, those that other attempts of its client wrote and on which its grant rests.
pub(super) fn kept(history: &History, index: usize, op: u64) -> bool {
    let events = &history.events;
    let stays = |place: &Place<'_>| {
        let own = content(events, index, *place)
            .filter(|now| is_lock_value_of(events, (*place, now), op));
        own.is_some_and(|now| is_lock(place.1, now.expires))
            && !is_released(events, index, op, place.0)
            && lives(events, index, *place)
    };
    let mut left: Vec<Place<'_>> = places(events).into_iter().filter(stays).collect();
    let mut authors = vec![op];
    if left.is_empty() {
        left = of_client(events, index, op);
        let wrote = left
            .iter()
            .filter_map(|place| content(events, index, *place)?.author);
        authors = wrote.map(|author| author.op).collect();
    }
    let is_excused = |place: &Place<'_>| {
        (index..events.len()).any(|at| {
            change(&events[at]).is_some_and(|change| change.0 == *place)
                && (authors.contains(&op) && removed_own(events, at, op)
                    || is_in_flight(events, (index, at), &authors))
        })
    };
    left.retain(|place| !is_excused(place));
    let mut nodes: Vec<usize> = left.iter().map(|place| place.0).collect();
    nodes.sort_unstable();
    nodes.dedup();
    nodes.len() > may_stay(history, op)
}

/// Returns `true` if the event `at` removes a value that one of these attempts had written before the report at the
/// event `index`, by a command of their own client, less than a tenth of a lease of 40 ms after the report.
fn is_in_flight(events: &[Event], (index, at): (usize, usize), authors: &[u64]) -> bool {
    let (reported_ns, now_ns) = (events[index].at_ns, events[at].at_ns);
    let Some((place, None, ..)) = change(&events[at]) else {
        return false;
    };
    let before = content(events, at, place).filter(|now| events[now.begun].at_ns <= reported_ns);
    let author = before.and_then(|before| before.author);
    let author = author.filter(|author| authors.contains(&author.op));
    let by = command(&events[at]);
    let is_own = author
        .zip(by)
        .is_some_and(|(author, by)| author.worker == by.worker);
    is_own && now_ns < reported_ns + 4 * MS
}

/// Returns the places with a value that the attempt did not write, but with which it took the lock.
fn of_client(events: &[Event], index: usize, op: u64) -> Vec<Place<'_>> {
    let sent_ns = events[..index]
        .iter()
        .rev()
        .find_map(|event| match event.what {
            EventKind::Release { worker, op: of } if of == op => Some((worker, event.at_ns)),
            _ => None,
        });
    let Some((worker, sent_ns)) = sent_ns else {
        return Vec::new();
    };
    let is_left = |place: &Place<'_>| {
        let Some(now) = content(events, index, *place) else {
            return false;
        };
        is_of_one_worker(events, *place, &now, worker)
            && !is_released(events, index, op, place.0)
            && is_lock(place.1, now.expires)
            && acquired(events, op, *place) == Some(now.value)
            && events[now.begun].at_ns < sent_ns
            && lives(events, index, *place)
    };
    places(events).into_iter().filter(is_left).collect()
}

/// Returns `true` if only this worker has written the key since it was free.
fn is_of_one_worker(events: &[Event], place: Place<'_>, now: &Content<'_>, worker: usize) -> bool {
    let before = content(events, now.begun, place);
    now.author.is_some_and(|author| author.worker == worker)
        && before.is_none_or(|before| is_of_one_worker(events, place, &before, worker))
}

/// Returns `true` if the attempt removed one of its values on this node before an event.
fn is_released(events: &[Event], index: usize, op: u64, node: usize) -> bool {
    (0..index).any(|at| {
        removed_own(events, at, op)
            && change(&events[at]).is_some_and(|change| change.0.0 == node)
            && !is_restored(events, at, index, op)
    })
}

/// Returns `true` for a value of the attempt. A value that a release wrote does not count, unless it wrote to the free
/// key the value that the attempt had removed from it.
fn is_lock_value_of(events: &[Event], (place, now): (Place<'_>, &Content<'_>), op: u64) -> bool {
    let Some(author) = now.author.filter(|author| author.op == op) else {
        return false;
    };
    let written = change(&events[now.begun]).and_then(|change| change.1);
    let is_own_before = |at: &usize| {
        let before = content(events, *at, place);
        before.is_some_and(|before| is_lock_value_of(events, (place, &before), op))
    };
    let is_again = || {
        let ended = (0..now.begun).rfind(is_own_before)?;
        let removed = content(events, ended, place)?;
        Some(removed_own(events, ended, op) && Some(removed.value) == written)
    };
    author.phase != Phase::Release || now.on_free && is_again() == Some(true)
}

/// Returns the keys that all grants of a lock have written.
pub(super) fn keys_of_grants(events: &[Event], lock: u32) -> Vec<&KeyName> {
    let mut keys: Option<Vec<&KeyName>> = None;
    for (index, event) in events.iter().enumerate() {
        let EventKind::Granted { worker, op, .. } = event.what else {
            continue;
        };
        let is_of_lock = request(events, op).is_some_and(|request| request.1 == lock);
        let rests_on_earlier =
            !wrote(events, index, op) && !current_values(events, index, worker, op).is_empty();
        if !is_of_lock || rests_on_earlier {
            continue;
        }
        let written: Vec<&KeyName> = own(events, index, op)
            .iter()
            .map(|own| own.place.1)
            .collect();
        match &mut keys {
            Some(known) => known.retain(|key| written.contains(key)),
            None if wrote(events, index, op) => keys = Some(written),
            None => {}
        }
    }
    keys.unwrap_or_default()
}

/// Returns the number of nodes on which a value of the attempt lasts although the attempt was refused, or its lock is
/// reported as lost. A value lasts if it exists for another tenth of a lease of 40 ms, and its own client does not
/// remove it.
pub(super) fn lasting(history: &History, index: usize, op: u64) -> usize {
    let events = &history.events;
    let Some((requested_at_ns, lock, _)) = request(events, op) else {
        return 0;
    };
    let until_ns = events[index].at_ns + 4 * MS;
    let worker = events.iter().find_map(|event| match event.what {
        EventKind::Acquire { worker, op: of, .. } if of == op => Some(worker),
        _ => None,
    });
    let keys = keys_of_grants(events, lock);
    let reports = reports(&events[..index], op);
    let lease_ns = reports
        .last()
        .map_or(requested_at_ns + 40 * MS, |report| report.until_ns.0);
    let stays = |place: &Place<'_>| {
        let Some(now) = content(events, index, *place) else {
            return false;
        };
        let own = is_lock_value_of(events, (*place, &now), op);
        let other =
            |at: &usize| content(events, at + 1, *place).is_none_or(|then| then.begun != now.begun);
        let gone = (index..events.len()).find(other);
        let by_own = |at: usize| command(&events[at]).is_some_and(|by| Some(by.worker) == worker);
        let is_ending = gone.is_some_and(|at| by_own(at) || events[at].at_ns < until_ns);
        // Its own client wrote another value there, to mark the lock as free.
        let is_marked = (index..gone.map_or(events.len(), |gone| gone + 1)).any(|at| {
            removed_own(events, at, op)
                && change(&events[at]).is_some_and(|change| change.0 == *place)
        });
        let lives = expires_at_ns(events, *place, index).0 > until_ns + SLACK_NS;
        let runs = now.expires || lease_ns > until_ns;
        // Overwriting an existing value need not take the lock.
        let is_acquired = !reports.is_empty() || now.on_free;
        own && is_acquired
            && is_lock(place.1, now.expires)
            && (keys.contains(&place.1) || place.1 == &KeyName::Lock(lock))
            && lives
            && runs
            && !is_ending
            && !is_marked
    };
    let mut nodes: Vec<usize> = (places(events).iter().filter(|place| stays(place)))
        .map(|place| place.0)
        .filter(|node| !is_released(events, index, op, *node))
        .collect();
    nodes.sort_unstable();
    nodes.dedup();
    nodes.len()
}

/// Returns `true` if this event removes the attempt's own value in order to release the lock.
fn removed_own(events: &[Event], index: usize, op: u64) -> bool {
    let Some((place, value, ..)) = change(&events[index]) else {
        return false;
    };
    let before = content(events, index, place);
    let own = before.is_some_and(|before| is_lock_value_of(events, (place, &before), op));
    let releases = command(&events[index])
        .is_some_and(|by| by.op == op && matches!(by.phase, Phase::Release | Phase::Idle));
    own && releases && before.is_some_and(|before| Some(before.value) != value)
}

/// Returns `true` if the attempt has written the value again, or lost it, since its removal.
fn is_restored(events: &[Event], removal: usize, until: usize, op: u64) -> bool {
    let place = change(&events[removal]).map(|change| change.0);
    (removal + 1..until).any(|at| {
        let here = change(&events[at]).is_some_and(|change| Some(change.0) == place);
        let now = place.and_then(|place| content(events, at + 1, place));
        let before = place.and_then(|place| content(events, at, place));
        let is_own = |one: Option<Content<'_>>| {
            one.zip(place)
                .is_some_and(|(one, place)| is_lock_value_of(events, (place, &one), op))
        };
        // A new expiry alone restores nothing.
        let is_new = now.is_some_and(|now| before.is_none_or(|it| it.value != now.value));
        let rewritten = is_own(now) && is_new;
        let lost = is_own(before) && !is_own(now);
        here && (rewritten || lost) && !removed_own(events, at, op)
    })
}

/// Returns `true` if the value has not expired by the node's clock.
fn lives(events: &[Event], index: usize, place: Place<'_>) -> bool {
    expires_at_ns(events, place, index).0 > events[index].at_ns + SLACK_NS
}
