//! Claims, directly from the definitions: for each report of a lock the whole history is read again. Shares no code
//! with the checkers.

use picklock_scenarios::Phase;

use super::contents::{Place, change, command, content, expires_at_ns, is_lock, places};
use super::course::false_claims;
use super::gone::{denied, gone};
use super::left::{kept, lasting};
use super::pairs::{reports, request};
use super::tries::{granted_nodes, is_of_earlier_try};
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
pub(super) struct Own<'a> {
    pub(super) place: Place<'a>,
    set_ns: u64,
    expires_at_ns: u64,
    ttl_ms: Option<i64>,
    /// Whether it was written in order to acquire the lock.
    at_acquisition: bool,
    /// The event that set its expiry, if that was an extension.
    extended_by: Option<usize>,
}

/// Returns the values that an attempt has written in the first `count` events, and not removed again.
pub(super) fn own<'a>(events: &'a [Event], count: usize, op: u64) -> Vec<Own<'a>> {
    let mut own = own_of_all_tries(events, count, op);
    own.retain(|own| !is_of_earlier_try(events, op, own.place));
    own
}

/// Like [`own`], with the values of tries that were not granted.
fn own_of_all_tries<'a>(events: &'a [Event], count: usize, op: u64) -> Vec<Own<'a>> {
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
            expires_at_ns: ttl_ms.map_or(u64::MAX, |ttl| events[index].at_ns + ttl as u64 * MS),
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
                let rests_on_kept = !kept.is_empty() && may_rest_on(events, index, op, &kept);
                let is_false = if !rests_on_kept || wrote(events, index, op) {
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
            } => {
                let is_false = [
                    lasting(history, index, op) > may_stay(history, op),
                    denied(history, index, op),
                ];
                found.extend(is_false.iter().filter(|it| **it).map(|_| event.at_ns));
            }
            EventKind::Refused { op, .. } if lasting(history, index, op) >= needed(history, op) => {
                found.push(event.at_ns);
            }
            _ => {}
        }
    }
    found.extend(false_claims(history));
    (found.len() as u64, found.into_iter().min())
}

/// Returns `true` if a grant can rest on the values of earlier attempts: they name the grant's token, or the attempt
/// that wrote the last of them was answered, or its answer may have arrived after the new request. (The faults of these
/// histories delay no answer, and their tokens are too short to identify a value.)
fn may_rest_on(events: &[Event], index: usize, op: u64, kept: &[Own<'_>]) -> bool {
    let EventKind::Granted { token, .. } = &events[index].what else {
        return false;
    };
    let requested_at_ns = request(events, op).map_or(0, |request| request.0);
    let contents = |own: &Own<'_>| content(events, index, own.place);
    // The places are numbered in the order of their first change.
    let first_change = |own: &&Own<'_>| {
        events
            .iter()
            .position(|event| change(event).is_some_and(|change| change.0 == own.place))
    };
    let last = kept.iter().max_by_key(first_change);
    let author = last.and_then(contents).and_then(|now| now.author);
    let is_in_doubt = events[..index].iter().any(|event| match event.what {
        EventKind::AcquireFailed {
            op,
            definite: false,
            ..
        } => author.is_some_and(|author| author.op == op),
        _ => false,
    });
    let is_backed = |own: &Own<'_>| {
        contents(own).is_some_and(|now| {
            let is_late = events[now.begun].at_ns >= requested_at_ns;
            is_lock(own.place.1, now.expires) && (now.value.contains(token) || is_late)
        })
    };
    !is_in_doubt || kept.iter().any(is_backed)
}

/// Returns `true` if the attempt has left a value in a key, or removed another value.
pub(super) fn wrote(events: &[Event], index: usize, op: u64) -> bool {
    let left = places(events).into_iter().any(|place| {
        let last = (0..index).rev().find(|at| {
            let by_op = command(&events[*at]).is_some_and(|by| by.op == op);
            let now = content(events, at + 1, place);
            let own = now.is_none_or(|now| now.author.is_some_and(|author| author.op == op));
            change(&events[*at]).is_some_and(|change| change.0 == place) && by_op && own
        });
        last.is_some_and(|at| change(&events[at]).is_some_and(|change| change.1.is_some()))
            && !is_of_earlier_try(events, op, place)
    });
    left || took_away(events, index, op)
}

/// Returns the unexpired values of all attempts of this worker before an event.
pub(super) fn current_values(
    events: &[Event],
    index: usize,
    worker: usize,
    op: u64,
) -> Vec<Own<'_>> {
    let lock = request(events, op).map_or(0, |request| request.1);
    let is_current = |place: &Place<'_>| {
        let author = content(events, index, *place).and_then(|now| now.author);
        let is_of_another = matches!(place.1, KeyName::Lock(other) if *other != lock);
        author.is_some_and(|author| author.worker == worker && author.op != op)
            && expires_at_ns(events, *place, index).0 > events[index].at_ns
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
            expires_at_ns: ttl_ms.map_or(u64::MAX, |ttl| events[set].at_ns + ttl as u64 * MS),
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
        // The requested lease is 40 ms, possibly counted from the request. The next whole second is 1000 ms.
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
    let mut own = own_of_all_tries(events, index, op);
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
    let takes_otherwise = has_no_lock_value || took_away(events, index, op);
    if !is_promised {
        // The lease is over, so only a grant without any value is false, unless another client handed the lock over.
        let is_named = |place: &Place<'_>| {
            let EventKind::Granted { token, .. } = &events[index].what else {
                return false;
            };
            let now = content(events, index, *place);
            now.is_some_and(|now| now.author.is_some() && now.value.contains(token))
        };
        let is_handed_over = places(events).iter().any(is_named);
        return granted_nodes(events, op) == 0 && !takes_otherwise && !is_handed_over;
    }
    !takes_otherwise && on * 2 <= nodes && !is_on_one_node
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
    // The report is untrue if fewer than a quorum of the values live until the end of the reported lease.
    let lives = |node: &usize, at: u64| {
        own.iter()
            .any(|own| own.place.0 == *node && own.expires_at_ns >= at)
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

/// Returns the number of nodes on which an attempt needs its value.
pub(super) fn needed(history: &History, op: u64) -> usize {
    let lock = request(&history.events, op).map_or(0, |request| request.1);
    match only_node(&history.events, lock) {
        Some(_) => 1,
        None => history.header.nodes / 2 + 1,
    }
}

/// Returns the number of nodes on which its value may stay so that other clients can get a quorum.
pub(super) fn may_stay(history: &History, op: u64) -> usize {
    let lock = request(&history.events, op).map_or(0, |request| request.1);
    match only_node(&history.events, lock) {
        Some(_) => 0,
        None => history.header.nodes - needed(history, op),
    }
}
