//! Why two had one lock, straight from the definitions: what became of the first one's values on the
//! nodes, looked up in the events for each question anew. Shares no code with the checkers.
//!
//! For histories in which every lease is told exactly, and no client's clock is wrong.

use std::collections::BTreeSet;

use picklock_scenarios::Phase;

use super::claims::only_node;
use super::contents::{Content, Place, change, command, content, is_lock, over_ns, places};
use super::pairs::{Hold, holds, overlapping, words};
use crate::check::{Cause, Property};
use crate::history::{Event, History, KeyChange};

/// All causes that the first violation may have: several pairs may have met at that time.
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
                causes.insert(why(history, one, other));
                if one.begin_ns == other.begin_ns {
                    causes.insert(why(history, other, one));
                }
            }
        }
    }
    causes
}

/// Why these two were inside together; `first` began first.
fn why(history: &History, first: &Hold, second: &Hold) -> Cause {
    let meets = |span: (u64, u64)| first.leases.iter().any(|lease| overlapping(*lease, span));
    let shared = second.leases.iter().any(|lease| meets(*lease));
    // No lease ran when the grant arrived.
    let late = |hold: &Hold| hold.leases.iter().all(|lease| lease.0 != hold.begin_ns);
    if !shared && (late(first) || late(second)) {
        return Cause::ExpiredGrant;
    }
    if !shared && !meets((second.begin_ns, second.end_ns)) {
        return Cause::OutlivedLease;
    }
    of_values(history, first, second)
}

fn of_values(history: &History, one: &Hold, other: &Hold) -> Cause {
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
    let (earlier, later, votes) = match one_took.0 <= other_took.0 {
        true => (one, other, other_took.1),
        false => (other, one, one_took.1),
    };
    let mut ends: Vec<Cause> = Vec::new();
    for (place, at) in &votes {
        if let Some(begun) = last_of(events, earlier.op, *place, events[*at].at_ns) {
            ends.push(end_of(events, (*place, begun), earlier, later, quorum));
        }
    }
    // Which end could not have been spared?
    let without = |cause: Option<Cause>| {
        let spared = ends
            .iter()
            .filter(|end| Some(**end) == cause || cause.is_none());
        votes.len() - spared.count() < quorum
    };
    if !without(None) {
        return Cause::UnbackedGrant;
    }
    if let Some(end) = ends.iter().find(|end| without(Some(**end))) {
        return *end;
    }
    let count = |cause: &Cause| ends.iter().filter(|end| *end == cause).count();
    let most = ends.iter().map(count).max().unwrap_or(0);
    let first_of_most = ends.iter().find(|end| count(end) == most);
    first_of_most.copied().unwrap_or(Cause::Undetermined)
}

/// The values with which an attempt took the lock, one for each node: where, and which event wrote it.
fn votes<'a>(events: &'a [Event], hold: &Hold) -> Vec<(Place<'a>, usize)> {
    let mut votes: Vec<(Place<'a>, usize)> = Vec::new();
    for place in places(events) {
        let begun = values_of(events, hold.op, place).filter(|(index, value)| {
            let acquires = value
                .author
                .is_some_and(|author| author.phase == Phase::Acquire);
            acquires && events[*index].at_ns <= hold.begin_ns
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
    let mut nodes = BTreeSet::new();
    votes.retain(|(place, _)| nodes.insert(place.0));
    votes
}

/// Every value that an attempt wrote there: the event, and what it left.
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

/// The value that an event began, as it was last.
fn last_content<'a>(events: &'a [Event], place: Place<'a>, begun: usize) -> Option<Content<'a>> {
    let states = (begun..events.len()).map(|index| content(events, index + 1, place));
    states.flatten().rfind(|now| now.begun == begun)
}

fn last_of<'a>(events: &'a [Event], op: u64, place: Place<'a>, until_ns: u64) -> Option<usize> {
    let values = values_of(events, op, place).map(|(index, _)| index);
    values
        .filter(|index| events[*index].at_ns <= until_ns)
        .last()
}

/// Would this value have been over when the later one was written there, lost or not, and had its
/// holder's lease run out?
fn lapsed(
    events: &[Event],
    (place, begun): (Place<'_>, usize),
    earlier: &Hold,
    later: &Hold,
) -> bool {
    let mut expiry_ns = None;
    for index in begun..events.len() {
        match content(events, index + 1, place) {
            Some(now) if now.begun == begun => {
                if let Some((there, _, Some(ttl_ms), _)) = change(&events[index])
                    && there == place
                {
                    expiry_ns = Some(events[index].at_ns + ttl_ms as u64 * 1_000_000);
                }
            }
            _ => break,
        }
    }
    let mut votes = votes(events, later).into_iter();
    let taken = votes.find(|(there, _)| *there == place);
    let over =
        matches!((taken, expiry_ns), (Some((_, at)), Some(over_ns)) if over_ns <= events[at].at_ns);
    let at_ns = later.begin_ns;
    let runs = |lease: &(u64, u64)| lease.0 <= at_ns && at_ns < lease.1;
    over && earlier.begin_ns <= at_ns && !earlier.leases.iter().any(runs)
}

/// What the end of a value means for the lock that rested on it.
fn end_of(
    events: &[Event],
    (place, begun): (Place<'_>, usize),
    earlier: &Hold,
    later: &Hold,
    quorum: usize,
) -> Cause {
    let is_it = |count: usize| content(events, count, place).is_some_and(|now| now.begun == begun);
    let gone = (begun + 1..=events.len()).find(|count| !is_it(*count));
    let gone = gone.map(|count| count - 1);
    let until_ns = |hold: &Hold| {
        words(events, hold.op)
            .first()
            .map_or(0, |word| word.until_ns.0)
    };
    let apart = until_ns(earlier) <= later.begin_ns || until_ns(later) <= earlier.begin_ns;
    let ran_out = || match over_ns(events, place, gone.unwrap_or(events.len())) {
        (_, true) => Cause::ClockJump,
        _ if apart => Cause::PhantomExtend,
        _ => Cause::WrongExpiry,
    };
    let seen_ns = gone.map_or(events.last().map_or(0, |last| last.at_ns), |gone| {
        events[gone].at_ns
    });
    let was_over = over_ns(events, place, gone.unwrap_or(events.len())).0 < seen_ns;
    let Some((_, value, _, why)) = gone.and_then(|gone| change(&events[gone])) else {
        return if was_over {
            ran_out()
        } else {
            Cause::Undetermined
        };
    };
    let by = gone.and_then(|gone| command(&events[gone]));
    match (why, by) {
        (KeyChange::Expired, _) => ran_out(),
        (_, Some(by)) if value.is_some() => match by.phase {
            Phase::Idle | Phase::Extend => Cause::PhantomExtend,
            _ if apart => Cause::PhantomExtend,
            _ => Cause::Race,
        },
        (_, Some(by)) if by.op == earlier.op && by.phase == Phase::Acquire => Cause::UnbackedGrant,
        (_, Some(by)) if by.op == earlier.op => Cause::Undetermined,
        (_, Some(by)) if by.op == later.op && by.phase == Phase::Acquire => Cause::Race,
        (_, Some(_)) => Cause::StolenRelease,
        _ if was_over => ran_out(),
        _ if lapsed(events, (place, begun), earlier, later) => Cause::PhantomExtend,
        (KeyChange::Evicted | KeyChange::Flushed, _) => Cause::Evicted,
        (KeyChange::Restarted, _) if quorum > 1 => Cause::QuorumErosion,
        (KeyChange::Restarted, _) => Cause::LostOnRestart,
        (KeyChange::FailedOver, _) => Cause::LostOnFailover,
        _ => Cause::Undetermined,
    }
}
