//! Why two clients had one lock, directly from the definitions: how the first client's values went away on the nodes,
//! looked up in the events for each question. Shares no code with the checkers.
//!
//! For histories in which every lease is reported exactly, and no client's clock is wrong.

use std::collections::BTreeSet;

use picklock_scenarios::Phase;

use super::claims::only_node;
use super::contents::{Content, Place, change, command, content, expires_at_ns, is_lock, places};
use super::pairs::{Hold, holds, overlapping, reports, request};
use super::unwritten::{is_unwritten, ran_out_ns};
use picklock_verdicts::check::{Cause, Property};
use picklock_verdicts::history::{Event, EventKind, History, KeyChange, KeyCommand};

/// Returns all causes that the first violation may have, because several pairs may overlap at that time.
pub(super) fn causes(history: &History, property: Property, at_ns: u64) -> BTreeSet<Cause> {
    let holds = holds(history);
    let mut causes = BTreeSet::new();
    for (index, one) in holds.iter().enumerate() {
        for other in &holds[index + 1..] {
            let spans = |hold: &Hold| match property {
                Property::Lease => hold.leases.clone(),
                _ => vec![(hold.begin_ns, hold.end_ns)],
            };
            let met = |mine: &(u64, u64), theirs: &(u64, u64)| {
                overlapping(*mine, *theirs) && mine.0.max(theirs.0) == at_ns
            };
            let meet = spans(one)
                .iter()
                .any(|mine| spans(other).iter().any(|theirs| met(mine, theirs)));
            if one.key == other.key && meet {
                causes.insert(why(history, one, other, at_ns));
                // If a lease may have run longer, the values may show another cause.
                let is_running =
                    |lease: &(u64, u64)| overlapping(*lease, (other.begin_ns, other.end_ns));
                if one.possible_leases.iter().any(is_running) {
                    causes.insert(cause_of_values(history, one, other));
                }
                if one.begin_ns == other.begin_ns {
                    causes.insert(why(history, other, one, at_ns));
                }
            }
        }
    }
    causes
}

/// Returns why these two clients were inside together. `first` began first.
fn why(history: &History, first: &Hold, second: &Hold, at_ns: u64) -> Cause {
    if [first, second]
        .iter()
        .any(|hold| is_unwritten(&history.events, hold))
    {
        return Cause::UnbackedGrant;
    }
    let meets = |span: (u64, u64)| first.leases.iter().any(|lease| overlapping(*lease, span));
    // Events after the violation do not explain it.
    let shared = first.leases.iter().any(|mine| {
        let mut theirs = second.leases.iter();
        theirs.any(|lease| overlapping(*mine, *lease) && mine.0.max(lease.0) <= at_ns)
    });
    // No lease ran when the grant arrived.
    let late = |hold: &Hold| hold.leases.iter().all(|lease| lease.0 != hold.begin_ns);
    if !shared && (late(first) || late(second)) {
        return Cause::ExpiredGrant;
    }
    if !shared && !meets((second.begin_ns, second.end_ns)) {
        return Cause::OutlivedLease;
    }
    cause_of_values(history, first, second)
}

fn cause_of_values(history: &History, one: &Hold, other: &Hold) -> Cause {
    let events = &history.events;
    let quorum = match only_node(events, one.key) {
        Some(_) => 1,
        None => history.header.nodes / 2 + 1,
    };
    let took = |hold: &Hold| {
        let mut taken = votes(events, hold);
        taken.sort_by_key(|vote| (events[vote.1].at_ns, vote.0.0));
        let at_ns = taken.get(quorum - 1).map(|vote| events[vote.1].at_ns);
        at_ns.map(|at_ns| (at_ns, taken))
    };
    let (Some(one_took), Some(other_took)) = (took(one), took(other)) else {
        return Cause::UnbackedGrant;
    };
    let (earlier, later, votes) = if one_took.0 <= other_took.0 {
        (one, other, other_took.1)
    } else {
        (other, one, one_took.1)
    };
    let mut ends: Vec<Cause> = Vec::new();
    let all = all_votes(events, later);
    for (place, _) in &votes {
        // A lock may write several keys. A key that both attempts wrote decides.
        let here = all.iter().filter(|(other, _)| other.0 == place.0);
        let met = here.clone().find_map(|(place, at)| {
            let begun = last_of(events, earlier, *place, events[*at].at_ns)?;
            Some((*place, *at, begun))
        });
        if let Some((place, at, begun)) = met {
            ends.push(end_of(events, (place, begun), earlier, (later, at), quorum));
        } else {
            let other_key = |(place, _): &(Place<'_>, usize)| {
                let mut theirs = all_votes(events, earlier).into_iter();
                theirs.any(|(other, _)| other.0 == place.0 && other.1 != place.1)
            };
            if here.clone().all(other_key) {
                ends.push(Cause::SplitKey);
            }
        }
    }
    // Find the loss without which the later client would not have reached a quorum.
    let is_needed = |cause: Option<Cause>| {
        let removed = ends
            .iter()
            .filter(|end| Some(**end) == cause || cause.is_none());
        votes.len() - removed.count() < quorum
    };
    if !is_needed(None) {
        return Cause::UnbackedGrant;
    }
    if let Some(end) = ends.iter().find(|end| is_needed(Some(**end))) {
        return *end;
    }
    let count = |cause: &Cause| ends.iter().filter(|end| *end == cause).count();
    let max = ends.iter().map(count).max().unwrap_or(0);
    let most_frequent = ends.iter().find(|end| count(end) == max);
    most_frequent.copied().unwrap_or(Cause::Undetermined)
}

/// Returns the values with which an attempt took the lock, one per node: the place, and the event that wrote it.
fn votes<'a>(events: &'a [Event], hold: &Hold) -> Vec<(Place<'a>, usize)> {
    let mut votes = all_votes(events, hold);
    let mut nodes = BTreeSet::new();
    votes.retain(|(place, _)| nodes.insert(place.0));
    votes
}

/// Like [`votes`], but for every key.
fn all_votes<'a>(events: &'a [Event], hold: &Hold) -> Vec<(Place<'a>, usize)> {
    let mut votes: Vec<(Place<'a>, usize)> = Vec::new();
    for place in places(events) {
        let begun = values_of(events, hold.op, place).filter(|(index, value)| {
            let acquires = value
                .author
                .is_some_and(|author| author.phase == Phase::Acquire);
            let undone = is_undone(events, (place, *index), hold);
            acquires && events[*index].at_ns <= hold.begin_ns && !undone
        });
        let Some((index, _)) = begun.last() else {
            continue;
        };
        let last = last_content(events, place, index);
        if last.is_some_and(|last| is_lock(place.1, last.expires)) {
            votes.push((place, index));
        }
    }
    votes.sort_by_key(|(place, index)| (events[*index].at_ns, place.0, *index));
    // Values that had expired when the last value was written belong to an earlier try.
    let last_ns = votes.last().map_or(0, |(_, index)| events[*index].at_ns);
    votes.retain(|value| ran_out_ns(events, *value).is_none_or(|at_ns| at_ns > last_ns));
    votes
}

/// Returns every value that an attempt wrote in a place: the event, and the content afterwards.
fn values_of<'a>(
    events: &'a [Event],
    op: u64,
    place: Place<'a>,
) -> impl Iterator<Item = (usize, Content<'a>)> {
    (0..events.len()).filter_map(move |index| {
        let here = change(&events[index])?.0 == place;
        let now = content(events, index + 1, place)?;
        let own = now.author.is_some_and(|author| author.op == op);
        (here && own && now.begun == index).then_some((index, now))
    })
}

/// Returns the last content of the value that an event began.
pub(super) fn last_content<'a>(
    events: &'a [Event],
    place: Place<'a>,
    begun: usize,
) -> Option<Content<'a>> {
    let states = (begun..events.len()).map(|index| content(events, index + 1, place));
    states.flatten().rfind(|now| now.begun == begun)
}

fn last_of<'a>(events: &'a [Event], hold: &Hold, place: Place<'a>, until_ns: u64) -> Option<usize> {
    let values = values_of(events, hold.op, place).map(|(index, _)| index);
    values
        .filter(|index| !is_undone(events, (place, *index), hold))
        .filter(|index| events[*index].at_ns <= until_ns)
        .last()
}

/// Returns the event that ended the value which another one began.
pub(super) fn ended(events: &[Event], (place, begun): (Place<'_>, usize)) -> Option<usize> {
    let is_it = |count: usize| content(events, count, place).is_some_and(|now| now.begun == begun);
    let gone = (begun + 1..=events.len()).find(|count| !is_it(*count));
    gone.map(|count| count - 1)
}

/// Returns `true` if the attempt removed the value before it was granted.
fn is_undone(events: &[Event], value: (Place<'_>, usize), hold: &Hold) -> bool {
    ended(events, value).is_some_and(|gone| {
        let removed = change(&events[gone]).is_some_and(|(_, now, ..)| now.is_none());
        let own =
            command(&events[gone]).is_some_and(|by| by.op == hold.op && by.phase == Phase::Acquire);
        removed && own && events[gone].at_ns <= hold.begin_ns
    })
}

/// Returns when the value would have expired undisturbed, according to its last expiry.
fn due_ns(events: &[Event], (place, begun): (Place<'_>, usize)) -> Option<u64> {
    let mut due_ns = None;
    for index in begun..events.len() {
        match content(events, index + 1, place) {
            Some(now) if now.begun == begun => {
                if let Some((there, _, ttl_ms, _)) = change(&events[index])
                    && there == place
                {
                    due_ns = ttl_ms.map(|ttl_ms| events[index].at_ns + ttl_ms as u64 * 1_000_000);
                }
            }
            _ => break,
        }
    }
    due_ns
}

/// Returns `true` if the earlier holder's lease had expired when the later one was let in.
fn lapsed(earlier: &Hold, later: &Hold) -> bool {
    let at_ns = later.begin_ns;
    let runs = |lease: &(u64, u64)| lease.0 <= at_ns && at_ns < lease.1;
    earlier.begin_ns <= at_ns && !earlier.leases.iter().any(runs)
}

/// Returns `true` if the node's clock was set at any time.
fn clock_was_set(events: &[Event], node: usize) -> bool {
    events.iter().any(|event| {
        matches!(&event.what, EventKind::FaultBegan { nodes, clock: Some(_), .. } if nodes.contains(&node))
    })
}

/// Returns the cause that follows from the end of a value for the lock that relied on it.
fn end_of(
    events: &[Event],
    (place, begun): (Place<'_>, usize),
    earlier: &Hold,
    (later, taken): (&Hold, usize),
    quorum: usize,
) -> Cause {
    let cause = plain_end_of(events, (place, begun), earlier, (later, taken), quorum);
    // The earlier attempt may have extended the other client's value.
    let renewed = (taken + 1..events.len()).any(|index| {
        let stays = content(events, index + 1, place).is_some_and(|now| now.begun == taken);
        let here = change(&events[index]).is_some_and(|change| change.0 == place);
        let life = |count: usize| expires_at_ns(events, place, count).0;
        let set = change(&events[index]).is_some_and(|change| change.2.is_some())
            || life(index) != life(index + 1);
        let by = command(&events[index]).is_some_and(|by| by.op == earlier.op);
        stays && here && by && set
    });
    match cause {
        Cause::PhantomExtend if renewed => Cause::ForeignRenewal,
        cause => cause,
    }
}

/// Returns `true` if the worker of this attempt began to release another hold of the lock at most one lease before.
fn released_before(events: &[Event], attempt: u64, lock: u32, at_ns: u64) -> bool {
    let worker = |attempt: u64| {
        events.iter().find_map(|event| match event.what {
            EventKind::Acquire { worker, op, .. } if op == attempt => Some(worker),
            _ => None,
        })
    };
    events.iter().any(|event| match event.what {
        EventKind::Release { op, .. } => {
            let same_lock = request(events, op).is_some_and(|request| request.1 == lock);
            same_lock
                && worker(op) == worker(attempt)
                && event.at_ns <= at_ns
                && at_ns <= event.at_ns + 40_000_000
        }
        _ => false,
    })
}

/// Returns `true` if the lock takes over by removal: an acquisition has removed a value that was older than a lease.
fn takes_over(events: &[Event], place: Place<'_>) -> bool {
    (0..events.len()).any(|index| {
        let Some((here, None, ..)) = change(&events[index]) else {
            return false;
        };
        let acquires = command(&events[index]).is_some_and(|by| by.phase == Phase::Acquire);
        let old = content(events, index, place)
            .is_some_and(|before| events[index].at_ns - events[before.begun].at_ns >= 40_000_000);
        here == place && acquires && old
    })
}

/// Returns `true` if the first lease of one of them had ended when the other began.
fn are_apart(events: &[Event], earlier: &Hold, later: &Hold) -> bool {
    let until_ns = |hold: &Hold| {
        let reports = reports(events, hold.op);
        reports.first().map_or(0, |report| report.until_ns.0)
    };
    let never_ran = |hold: &Hold| until_ns(hold) <= hold.begin_ns;
    never_ran(earlier)
        || never_ran(later)
        || until_ns(earlier) <= later.begin_ns
        || until_ns(later) <= earlier.begin_ns
}

/// Returns what the expiry of a value at this time means.
fn cause_of_expiry(earlier: &Hold, later: &Hold, apart: bool, expires_at_ns: u64) -> Cause {
    let span = (later.begin_ns, later.end_ns);
    let mut leases = earlier.leases.iter();
    let shared = leases.find(|lease| overlapping(**lease, span));
    // The lease that overlaps the other hold was reported when the value was gone.
    if apart && shared.is_some_and(|lease| expires_at_ns <= lease.0) {
        Cause::PhantomExtend
    } else {
        Cause::WrongExpiry
    }
}

/// Like [`end_of`], but ignores whose value was extended.
fn plain_end_of(
    events: &[Event],
    (place, begun): (Place<'_>, usize),
    earlier: &Hold,
    (later, taken): (&Hold, usize),
    quorum: usize,
) -> Cause {
    let gone = ended(events, (place, begun));
    let apart = are_apart(events, earlier, later);
    let cause_of_expiry = |expires_at_ns| cause_of_expiry(earlier, later, apart, expires_at_ns);
    let due_ns = due_ns(events, (place, begun)).filter(|due| *due <= events[taken].at_ns);
    let seen_ns = gone.map_or(events.last().map_or(0, |last| last.at_ns), |gone| {
        events[gone].at_ns
    });
    let ran_out = || match (
        expires_at_ns(events, place, gone.unwrap_or(events.len())),
        due_ns,
    ) {
        ((_, true), None) => Cause::ClockJump,
        ((_, true), Some(due_ns)) => cause_of_expiry(due_ns),
        ((expires_at_ns, _), _) => cause_of_expiry(expires_at_ns.min(seen_ns)),
    };
    let was_over = expires_at_ns(events, place, gone.unwrap_or(events.len())).0 < seen_ns;
    let Some((_, value, _, why)) = gone.and_then(|gone| change(&events[gone])) else {
        return if was_over {
            ran_out()
        } else {
            Cause::Undetermined
        };
    };
    let by = gone.and_then(|gone| command(&events[gone]));
    let late = |by: &KeyCommand| released_before(events, by.op, earlier.key, seen_ns);
    match (why, by) {
        (KeyChange::Expired, _) => ran_out(),
        (_, Some(by)) if value.is_some() => match by.phase {
            Phase::Idle | Phase::Extend => Cause::PhantomExtend,
            Phase::Release if took_again(events, by, value) => Cause::PhantomExtend,
            Phase::Release => Cause::StolenRelease,
            _ if apart => Cause::PhantomExtend,
            _ => Cause::Race,
        },
        (_, Some(by)) if by.op == earlier.op && by.phase == Phase::Acquire => Cause::UnbackedGrant,
        (_, Some(by)) if by.op == earlier.op && by.phase == Phase::Release => Cause::Undetermined,
        (_, Some(by)) if by.op == earlier.op && !late(by) => Cause::OwnRemoval,
        (_, Some(by)) if by.op == later.op && by.phase == Phase::Acquire => {
            if takes_over(events, place) {
                Cause::Race
            } else {
                Cause::StolenRelease
            }
        }
        (_, Some(by)) if is_unrequested(events, by, earlier.key, seen_ns) => Cause::ForeignRemoval,
        (_, Some(_)) => Cause::StolenRelease,
        _ if was_over => ran_out(),
        (
            KeyChange::Evicted | KeyChange::Flushed | KeyChange::Restarted | KeyChange::FailedOver,
            _,
        ) if due_ns.is_some() && !clock_was_set(events, place.0) => {
            if lapsed(earlier, later) {
                Cause::PhantomExtend
            } else {
                cause_of_expiry(due_ns.unwrap_or(0))
            }
        }
        (KeyChange::Evicted | KeyChange::Flushed, _) => Cause::Evicted,
        (KeyChange::Restarted, _) if quorum > 1 => Cause::QuorumErosion,
        (KeyChange::Restarted, _) => Cause::LostOnRestart,
        (KeyChange::FailedOver, _) => Cause::LostOnFailover,
        _ => Cause::Undetermined,
    }
}

/// Returns `true` if the attempt took the lock with this value. A value that it overwrote in the process does not
/// count.
fn took_again(events: &[Event], by: &KeyCommand, value: Option<&str>) -> bool {
    let took = |place: Place<'_>| {
        let mut values = values_of(events, by.op, place);
        values.any(|(begun, now)| {
            let acquires = now.author.is_some_and(|it| it.phase == Phase::Acquire);
            let last = last_content(events, place, begun);
            acquires && last.is_some_and(|last| Some(last.value) == value)
        })
    };
    places(events).into_iter().any(took)
}

/// Returns `true` if a removal belongs to no request: its client was neither acquiring nor releasing, and has sent no
/// release of this lock in the last 40 ms, which is a lease, or has been started again since.
fn is_unrequested(events: &[Event], by: &KeyCommand, lock: u32, at_ns: u64) -> bool {
    let released = events.iter().find_map(|event| match event.what {
        EventKind::Release { worker, op } if worker == by.worker => {
            let is_of_lock = request(events, op).is_some_and(|request| request.1 == lock);
            (is_of_lock && event.at_ns <= at_ns && at_ns <= event.at_ns + 40_000_000)
                .then_some(event.at_ns)
        }
        _ => None,
    });
    let is_restarted = |since_ns: u64| {
        events.iter().any(|event| {
            matches!(event.what, EventKind::WorkerDown { worker, .. } if worker == by.worker)
                && (since_ns..at_ns).contains(&event.at_ns)
        })
    };
    by.phase == Phase::Idle && released.is_none_or(is_restarted)
}
