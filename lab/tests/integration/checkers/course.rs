//! Claims about the course of a hold, directly from the definitions: its lease continues, and the lock is free after
//! it. Shares no code with the checkers.

use picklock_scenarios::Phase;

use super::causes::{ended, last_content};
use super::claims::{may_stay, needed};
use super::contents::{Place, content, expires_at_ns, is_lock, places};
use super::left::keys_of_grants;
use super::pairs::{Hold, holds, request};
use picklock_verdicts::history::{Event, EventKind, History, KeyChange};

const MS: u64 = 1_000_000;

/// A content of a key that an attempt wrote, from its first writing to its end.
#[derive(Debug, Clone, Copy)]
struct OwnContent<'a> {
    place: Place<'a>,
    from_ns: u64,
    /// The index of the event that ended it, if one did.
    gone: Option<usize>,
    until_ns: u64,
    acquires: bool,
    renews: bool,
}

fn own_contents<'a>(events: &'a [Event], op: u64) -> Vec<OwnContent<'a>> {
    let last_ns = events.last().map_or(0, |last| last.at_ns);
    let at = |place: Place<'a>| {
        (0..events.len()).filter_map(move |index| {
            let now = content(events, index + 1, place).filter(|now| now.begun == index)?;
            let author = now.author.filter(|author| author.op == op)?;
            let gone = ended(events, (place, index));
            let last = last_content(events, place, index)?;
            is_lock(place.1, last.expires).then_some(OwnContent {
                place,
                from_ns: events[index].at_ns,
                gone,
                until_ns: gone.map_or(last_ns + 1, |gone| events[gone].at_ns),
                acquires: author.phase == Phase::Acquire,
                renews: matches!(author.phase, Phase::Idle | Phase::Extend),
            })
        })
    };
    places(events).into_iter().flat_map(at).collect()
}

fn nodes_of<'a>(contents: impl Iterator<Item = &'a OwnContent<'a>>) -> usize {
    let mut nodes: Vec<usize> = contents.map(|one| one.place.0).collect();
    nodes.sort_unstable();
    nodes.dedup();
    nodes.len()
}

/// Returns when a renewal wrote a value of this hold again that had gone, while the values on the other nodes were too
/// few.
fn recreated_ns(history: &History, hold: &Hold) -> Option<u64> {
    let mut own = own_contents(&history.events, hold.op);
    let taken: Vec<Place<'_>> = own
        .iter()
        .filter(|one| one.acquires)
        .map(|one| one.place)
        .collect();
    own.retain(|one| taken.iter().any(|place| place.1 == one.place.1));
    let is_again = |one: &&OwnContent<'_>| {
        let had = own.iter().any(|before| {
            before.place == one.place
                && before.from_ns < one.from_ns
                && before.until_ns <= one.from_ns
        });
        let others = own.iter().filter(|other| {
            other.place.0 != one.place.0
                && other.from_ns <= one.from_ns
                && one.from_ns < other.until_ns
        });
        one.renews
            && (hold.begin_ns..hold.end_ns).contains(&one.from_ns)
            && had
            && nodes_of(others) < needed(history, hold.op)
    };
    own.iter().filter(is_again).map(|one| one.from_ns).min()
}

/// Returns `true` if a value stayed after the release that was answered at this event, and kept the others out until it
/// expired: a client requested the lock in the first half of that time, and no client got it.
fn blocks(history: &History, index: usize, hold: &Hold) -> bool {
    let events = &history.events;
    let at_ns = events[index].at_ns;
    let keys = keys_of_grants(events, hold.key);
    let last_ns = events.last().map_or(0, |last| last.at_ns);
    let stays = |one: &&OwnContent<'_>| {
        let by_itself = one.gone.is_none_or(|gone| {
            let why = super::contents::change(&events[gone]).map(|change| change.3);
            let has_leapt = expires_at_ns(events, one.place, gone).1;
            matches!(why, Some(KeyChange::Expired)) && !has_leapt
        });
        by_itself
            && keys.contains(&one.place.1)
            && one.from_ns <= hold.end_ns
            && one.until_ns.min(last_ns) > at_ns + 4 * MS
    };
    let own = own_contents(events, hold.op);
    let rests: Vec<&OwnContent<'_>> = own.iter().filter(stays).collect();
    let Some(until_ns) = rests.iter().map(|one| one.until_ns.min(last_ns)).min() else {
        return false;
    };
    let is_granted = holds(history).iter().any(|other| {
        other.op != hold.op && other.key == hold.key && (at_ns..until_ns).contains(&other.begin_ns)
    });
    let is_wanted = events.iter().any(|event| match event.what {
        EventKind::Acquire {
            worker, op, key, ..
        } => {
            let answered = events.iter().any(|answer| {
                let is_answer = match answer.what {
                    EventKind::Granted { op: of, .. }
                    | EventKind::Refused { op: of, .. }
                    | EventKind::AcquireFailed { op: of, .. } => of == op,
                    _ => false,
                };
                is_answer && answer.at_ns <= at_ns
            });
            worker != hold.worker
                && key == hold.key
                && event.at_ns < at_ns + (until_ns - at_ns) / 2
                && !answered
        }
        _ => false,
    });
    nodes_of(rests.into_iter()) > may_stay(history, hold.op) && !is_granted && is_wanted
}

/// Returns the times of the false claims about the courses of all holds.
pub(super) fn false_claims(history: &History) -> Vec<u64> {
    let events = &history.events;
    let mut found = Vec::new();
    for hold in holds(history) {
        if request(events, hold.op).is_none() {
            continue;
        }
        found.extend(recreated_ns(history, &hold));
        let mut answers = events.iter().enumerate().filter(|(_, event)| {
            matches!(event.what, EventKind::Released { op, released: Some(_), .. } if op == hold.op)
        });
        let last = answers.next_back().map(|(index, _)| index);
        if let Some(index) = last.filter(|index| blocks(history, *index, &hold)) {
            found.push(events[index].at_ns);
        }
    }
    found
}
