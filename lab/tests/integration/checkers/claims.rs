//! Claims, directly from the definitions: for each report of a lock the whole history is read again. Shares no code
//! with the checkers.

use picklock_scenarios::Phase;

use super::contents::{Content, Place, change, command, content, ended_at_ns, is_lock, places};
use super::gone::gone;
use super::pairs::{reports, request};
use picklock_verdicts::history::{Event, EventKind, History, KeyName};

const MS: u64 = 1_000_000;
const SLACK_NS: u64 = 2 * MS;

/// Returns the only node on which the grants of a lock rest, or `None` if there are several or none.
pub(super) fn only_node(events: &[Event], lock: u32) -> Option<usize> {
    let mut only = None;
    for (index, event) in events.iter().enumerate() {
        let EventKind::Granted { op, .. } = event.what else {
            continue;
        };
        if request(events, op).is_none_or(|(_, key, _)| key != lock) {
            continue;
        }
        for before in &events[..index] {
            if let Some(by) = command(before)
                && (by.op, by.phase) == (op, Phase::Acquire)
            {
                let node = change(before)?.0.0;
                if only.is_some_and(|only| only != node) {
                    return None;
                }
                only = Some(node);
            }
        }
    }
    only
}

/// A value that an attempt has written.
#[derive(Debug, Clone, Copy)]
struct Own<'a> {
    place: Place<'a>,
    set_ns: u64,
    ended_at_ns: u64,
    ttl_ms: Option<i64>,
    /// Whether it was written in order to acquire the lock.
    at_acquisition: bool,
    /// The event that set its expiry, if that was an extension.
    extended_by: Option<usize>,
}

/// Returns the values that an attempt has written in the first `count` events, and not removed again.
fn own<'a>(events: &'a [Event], count: usize, op: u64) -> Vec<Own<'a>> {
    let by = |index: &usize| command(&events[*index]).is_some_and(|by| by.op == op);
    let in_phase =
        |index: usize, phase| command(&events[index]).is_some_and(|by| by.phase == phase);
    let last = |place: Place<'a>| {
        let mut here = (0..count).rev().filter(by).filter(|index| {
            let is_own = content(events, index + 1, place)
                .is_none_or(|now| now.author.is_some_and(|author| author.op == op));
            change(&events[*index]).is_some_and(|change| change.0 == place) && is_own
        });
        let index = here.next()?;
        let (_, value, ttl_ms, _) = change(&events[index])?;
        value?;
        is_lock(place.1, ttl_ms.is_some()).then(|| Own {
            place,
            set_ns: events[index].at_ns,
            ended_at_ns: ttl_ms.map_or(u64::MAX, |ttl| events[index].at_ns + ttl as u64 * MS),
            ttl_ms,
            at_acquisition: in_phase(index, Phase::Acquire),
            extended_by: in_phase(index, Phase::Extend).then_some(index),
        })
    };
    places(events).into_iter().filter_map(last).collect()
}

/// Returns `true` if the attempt removed a value that it had not written.
fn took_away(events: &[Event], count: usize, op: u64) -> bool {
    (0..count).any(|index| {
        let Some((place, None, ..)) = change(&events[index]) else {
            return false;
        };
        let by_op = command(&events[index]).is_some_and(|by| by.op == op);
        let mut before = (0..index).rev().filter(|before| {
            let (at, by) = (change(&events[*before]), command(&events[*before]));
            let now = content(events, before + 1, place);
            at.is_some_and(|at| at.0 == place)
                && by.is_some_and(|by| by.op == op)
                && now.is_none_or(|now| now.author.is_some_and(|author| author.op == op))
        });
        by_op
            && before
                .next()
                .is_none_or(|before| change(&events[before]).is_some_and(|c| c.1.is_none()))
    })
}

pub(super) fn claims(history: &History) -> (u64, Option<u64>) {
    let events = &history.events;
    let nodes = history.header.nodes;
    let mut found: Vec<u64> = Vec::new();
    for (index, event) in events.iter().enumerate() {
        match event.what {
            EventKind::Granted { worker, op, .. } => {
                // A lock that keeps its value has nothing to write. Another lock's value, or an expired one, does not
                // count.
                let kept = current_values(events, index, worker, op);
                let is_false = if kept.is_empty() || wrote(events, index, op) {
                    vec![
                        wrong_expiry(events, index, op, nodes),
                        too_few(events, index, op, nodes),
                        too_long(events, index, op, nodes),
                        shared(events, index, op),
                    ]
                } else {
                    vec![too_long(events, index, op, nodes)]
                };
                found.extend(is_false.iter().filter(|it| **it).map(|_| event.at_ns));
            }
            EventKind::Extended { op, .. } if moved(events, index, op) => {
                let is_false = [
                    extended_too_long(events, index, op),
                    too_long(events, index, op, nodes),
                ];
                found.extend(is_false.iter().filter(|it| **it).map(|_| event.at_ns));
            }
            EventKind::Released {
                op,
                released: Some(true),
                ..
            } => {
                let is_false = [kept(history, index, op), gone(history, index, op)];
                found.extend(is_false.iter().filter(|it| **it).map(|_| event.at_ns));
            }
            EventKind::Released {
                op,
                released: Some(false),
                ..
            } if lasting(history, index, op) > may_stay(history, op) => found.push(event.at_ns),
            EventKind::Refused { op, .. } if lasting(history, index, op) >= needed(history, op) => {
                found.push(event.at_ns);
            }
            _ => {}
        }
    }
    (found.len() as u64, found.into_iter().min())
}

/// Returns `true` if the attempt has left a value in a key, or removed another value.
fn wrote(events: &[Event], index: usize, op: u64) -> bool {
    let left = places(events).into_iter().any(|place| {
        let last = (0..index).rev().find(|at| {
            let by_op = command(&events[*at]).is_some_and(|by| by.op == op);
            let now = content(events, at + 1, place);
            let own = now.is_none_or(|now| now.author.is_some_and(|author| author.op == op));
            change(&events[*at]).is_some_and(|change| change.0 == place) && by_op && own
        });
        last.is_some_and(|at| change(&events[at]).is_some_and(|change| change.1.is_some()))
    });
    left || took_away(events, index, op)
}

/// Returns the unexpired values of all attempts of this worker before an event.
fn current_values(events: &[Event], index: usize, worker: usize, op: u64) -> Vec<Own<'_>> {
    let lock = request(events, op).map_or(0, |request| request.1);
    let is_current = |place: &Place<'_>| {
        let author = content(events, index, *place).and_then(|now| now.author);
        let is_of_another = matches!(place.1, KeyName::Lock(other) if *other != lock);
        author.is_some_and(|author| author.worker == worker)
            && ended_at_ns(events, *place, index).0 > events[index].at_ns
            && !is_of_another
    };
    let current = places(events).into_iter().filter(is_current);
    let own = current.filter_map(|place| {
        let here = |event: &Event| change(event).is_some_and(|change| change.0 == place);
        let set = events[..index].iter().rposition(here)?;
        let (_, _, ttl_ms, _) = change(&events[set])?;
        Some(Own {
            place,
            set_ns: events[set].at_ns,
            ended_at_ns: ttl_ms.map_or(u64::MAX, |ttl| events[set].at_ns + ttl as u64 * MS),
            ttl_ms,
            at_acquisition: false,
            extended_by: None,
        })
    });
    own.collect()
}

fn wrong_expiry(events: &[Event], index: usize, op: u64, nodes: usize) -> bool {
    let mut own = own(events, index, op);
    // A key on fewer nodes than the lock needs is not the lock's key.
    let lock = request(events, op).map_or(0, |request| request.1);
    let needed = match only_node(&events[..=index], lock) {
        Some(_) => 1,
        None => nodes / 2 + 1,
    };
    let all = own.clone();
    let on = |key: &KeyName| all.iter().filter(|own| own.place.1 == key).count();
    if all.iter().any(|own| on(own.place.1) >= needed) {
        own.retain(|own| on(own.place.1) >= needed);
    }
    let requested_at_ns = request(events, op).map_or(0, |request| request.0);
    (0..3).any(|node| {
        let expiries: Vec<(i64, u64)> = (own.iter())
            .filter(|own| own.place.0 == node && own.at_acquisition)
            .filter_map(|own| Some((own.ttl_ms?, own.set_ns)))
            .collect();
        // The request was for 40 ms, possibly counted from the request. The next whole second is 1000 ms.
        let is_right = |(ttl, set_ns): &(i64, u64)| {
            let past_ms = set_ns.saturating_sub(requested_at_ns).div_ceil(MS) as i64;
            (39 - past_ms..=1001).contains(ttl)
        };
        !expiries.is_empty() && !expiries.iter().any(is_right)
    })
}

/// Returns `true` if an extension since the previous report gave the key more time than requested.
fn extended_too_long(events: &[Event], index: usize, op: u64) -> bool {
    let is_report = |at: &usize| {
        matches!(events[*at].what, EventKind::Extended { op: of, .. } if of == op)
            && moved(events, *at, op)
    };
    let before = (0..index).rev().find(is_report);
    let mut own = own(events, index, op);
    own.retain(|own| own.extended_by > before);
    (0..3).any(|node| {
        let here = own.iter().filter(|own| own.place.0 == node);
        here.filter_map(|own| own.ttl_ms)
            .min()
            .is_some_and(|ttl_ms| ttl_ms > 1001)
    })
}

fn nodes_of(own: &[Own<'_>]) -> Vec<usize> {
    (0..3)
        .filter(|node| own.iter().any(|own| own.place.0 == *node))
        .collect()
}

fn too_few(events: &[Event], index: usize, op: u64, nodes: usize) -> bool {
    let on = nodes_of(&own(events, index, op)).len();
    let lock = request(events, op).map_or(0, |request| request.1);
    let is_on_one_node = on > 0 && only_node(events, lock).is_some();
    // The attempt wrote only a key that is not a lock, or removed a value.
    let has_no_lock_value = on == 0 && wrote(events, index, op);
    let is_promised = reports(&events[..=index], op)
        .last()
        .is_some_and(|report| report.until_ns.0 > events[index].at_ns);
    is_promised
        && !has_no_lock_value
        && on * 2 <= nodes
        && !took_away(events, index, op)
        && !is_on_one_node
}

fn too_long(events: &[Event], index: usize, op: u64, nodes: usize) -> bool {
    let at_ns = events[index].at_ns;
    let lock = request(events, op).map_or(0, |request| request.1);
    let quorum = match only_node(&events[..=index], lock) {
        Some(_) => 1,
        None => nodes / 2 + 1,
    };
    let mut own = own(events, index, op);
    let worker = events.iter().find_map(|event| match event.what {
        EventKind::Acquire { worker, op: o, .. } if o == op => Some(worker),
        _ => None,
    });
    if !wrote(events, index, op) {
        own = current_values(events, index, worker.unwrap_or(usize::MAX), op);
        own.retain(|own| is_lock(own.place.1, own.ttl_ms.is_some()));
    }
    let Some(reported_at_ns) = reports(&events[..=index], op)
        .last()
        .map(|report| report.until_ns.0)
    else {
        return false;
    };
    // The two figures are not measured at the same time, so a hundredth of the requested lease is tolerated for a value
    // that the attempt itself wrote.
    let report_slack_ns =
        request(events, op).map_or(0, |request| request.2.saturating_mul(MS) / 100);
    let slack_ns = if wrote(events, index, op) {
        SLACK_NS + report_slack_ns
    } else {
        SLACK_NS
    };
    // The report is false if fewer than a quorum of the values live until the end of the reported lease.
    let lives = |node: &usize, at: u64| {
        own.iter()
            .any(|own| own.place.0 == *node && own.ended_at_ns >= at)
    };
    let worth = nodes_of(&own);
    let left = worth
        .iter()
        .filter(|node| lives(node, reported_at_ns.saturating_sub(slack_ns)))
        .count();
    worth.len() >= quorum && reported_at_ns > at_ns && left < quorum
}

/// Returns `true` if an extension changed the end of the lease.
fn moved(events: &[Event], index: usize, op: u64) -> bool {
    let reports = reports(&events[..=index], op);
    let ends: Vec<_> = reports.iter().map(|report| report.until_ns).collect();
    ends.len() < 2 || ends[ends.len() - 1] != ends[ends.len() - 2]
}

/// Returns `true` if another lock had written every key of the attempt before.
fn shared(events: &[Event], index: usize, op: u64) -> bool {
    let lock_of = |op: u64| request(events, op).map_or(0, |request| request.1);
    let first_user = |place: Place<'_>| {
        let uses = |grant: &usize| match events[*grant].what {
            EventKind::Granted { op, .. } => {
                let own = own(events, *grant, op);
                own.iter()
                    .any(|own| own.place == place)
                    .then(|| lock_of(op))
            }
            _ => None,
        };
        (0..=index).collect::<Vec<_>>().iter().find_map(uses)
    };
    let own = own(events, index, op);
    !own.is_empty()
        && own
            .iter()
            .all(|own| first_user(own.place) != Some(lock_of(op)))
}

/// Returns `true` if a release that reported success left so many values that no other client can get the lock.
fn kept(history: &History, index: usize, op: u64) -> bool {
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

/// Returns the number of nodes on which an attempt needs its value.
pub(super) fn needed(history: &History, op: u64) -> usize {
    let lock = request(&history.events, op).map_or(0, |request| request.1);
    match only_node(&history.events, lock) {
        Some(_) => 1,
        None => history.header.nodes / 2 + 1,
    }
}

/// Returns the number of nodes on which its value may stay so that other clients can get a quorum.
fn may_stay(history: &History, op: u64) -> usize {
    let lock = request(&history.events, op).map_or(0, |request| request.1);
    match only_node(&history.events, lock) {
        Some(_) => 0,
        None => history.header.nodes - needed(history, op),
    }
}

/// Returns the keys that all grants of a lock have written.
fn keys_of_grants(events: &[Event], lock: u32) -> Vec<&KeyName> {
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
fn lasting(history: &History, index: usize, op: u64) -> usize {
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
        let lives = ended_at_ns(events, *place, index).0 > until_ns + SLACK_NS;
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

/// Returns `true` if this event removes the attempt's own value in order to release it.
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
    ended_at_ns(events, place, index).0 > events[index].at_ns + SLACK_NS
}
