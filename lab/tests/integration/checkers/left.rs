//! Values that stay although their lock reports that they are gone, directly from the definitions. Shares no code with
//! the checkers.

use picklock_scenarios::Phase;

use super::claims::{current_values, may_stay, own, wrote};
use super::contents::{Content, Place, change, command, content, expires_at_ns, is_lock, places};
use super::pairs::{reports, request};
use picklock_verdicts::history::{Event, EventKind, History, KeyName};

const MS: u64 = 1_000_000;
const SLACK_NS: u64 = 2 * MS;

/// Returns `true` if a release that reported success left so many values that no other client can get the lock.
pub(super) fn kept(history: &History, index: usize, op: u64) -> bool {
    let events = &history.events;
    let removal = |at: &usize| removed_own(events, *at, op);
    let released: Vec<usize> = (0..index)
        .filter(removal)
        .filter(|at| !is_restored(events, *at, index, op))
        .filter_map(|at| Some(change(&events[at])?.0.0))
        .collect();
    let stays = |place: &Place<'_>| {
        let content = content(events, index, *place);
        let own = content.filter(|now| is_lock_value_of(now, op));
        let later = (index..events.len())
            .any(|at| removal(&at) && change(&events[at]).is_some_and(|change| change.0 == *place));
        let lock = own.is_some_and(|now| is_lock(place.1, now.expires));
        lock && !later && !released.contains(&place.0) && lives(events, index, *place)
    };
    let mut kept: Vec<usize> = (places(events).iter().filter(|place| stays(place)))
        .map(|place| place.0)
        .collect();
    kept.dedup();
    kept.len() > may_stay(history, op)
}

/// Returns `true` for a value of the attempt. A value that a release wrote does not count.
fn is_lock_value_of(now: &Content<'_>, op: u64) -> bool {
    let author = now.author.filter(|author| author.phase != Phase::Release);
    author.is_some_and(|author| author.op == op)
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
        let own = is_lock_value_of(&now, op);
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
    let released = |node: usize| {
        (0..index).any(|at| {
            removed_own(events, at, op)
                && change(&events[at]).is_some_and(|change| change.0.0 == node)
                && !is_restored(events, at, index, op)
        })
    };
    let mut nodes: Vec<usize> = (places(events).iter().filter(|place| stays(place)))
        .map(|place| place.0)
        .filter(|node| !released(*node))
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
    let own = before.is_some_and(|before| is_lock_value_of(&before, op));
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
        let is_own = |one: Option<Content<'_>>| one.is_some_and(|one| is_lock_value_of(&one, op));
        let rewritten = is_own(now);
        let lost = is_own(before) && !is_own(now);
        here && (rewritten || lost) && !removed_own(events, at, op)
    })
}

/// Returns `true` if the value has not expired by the node's clock.
fn lives(events: &[Event], index: usize, place: Place<'_>) -> bool {
    expires_at_ns(events, place, index).0 > events[index].at_ns + SLACK_NS
}
