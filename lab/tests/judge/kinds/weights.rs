//! Exclusion, lease and resource by weights and capacity.
//!
//! | open | read as |
//! |---|---|
//! | holds that weigh too much | their sum at the beginning of one of them, with half-open intervals; a hold of zero length counts strictly inside others |
//! | a leader's hold | from the election to the end of its last act that the lock allowed; a term without an act is not a hold |
//! | several violations | the earliest; the final inspection comes last |
//! | more permits than there are for the client of the final inspection | `exclusion` only, because it is one client |
//! | a permit too many after a fault took a key away | the fault may be the cause |
//! | at work | from the change of the stock to the end of the hold |
//! | a reader of two different halves | violates `resource` if a writer was in the middle of its change at some time between the reader's two readings |

use super::super::answer::{Answer, Finding};
use super::super::attempt::Attempt;
use super::super::cause::Case;
use super::super::compare::ANY;
use super::leadership;

/// A span of time with a weight.
type Weighted = (u64, u64, u64);

/// Returns the first time at which spans weigh more than the capacity.
fn too_heavy(spans: &[Weighted], capacity: u64) -> Option<u64> {
    let weight_at = |at: u64, own: &Weighted| -> u64 {
        let is_point = own.0 == own.1;
        let has_begun = |from: u64| from < at || (from == at && !is_point);
        let inside = spans
            .iter()
            .filter(|(from, until, _)| has_begun(*from) && at < *until);
        let others: u64 = inside.map(|(_, _, weight)| weight).sum();
        others + if is_point { own.2 } else { 0 }
    };
    let starts = spans.iter().filter(|own| weight_at(own.0, own) > capacity);
    starts.map(|(from, _, _)| *from).min()
}

/// Returns when the hold of an attempt ended.
fn end_of_hold(case: &Case, attempt: &Attempt) -> Option<u64> {
    match case.file.kind.as_str() {
        "leader" => leadership::end_of_last_act(&case.file, attempt),
        _ => Some(attempt.until),
    }
}

/// Returns the granted attempts for a lock, with the ends of their holds.
fn holds(case: &Case, lock: u64) -> impl Iterator<Item = (&Attempt, u64)> {
    let granted = case.attempts.iter().filter(move |one| one.granted());
    granted
        .filter(move |one| one.key == lock)
        .filter_map(|one| end_of_hold(case, one).map(|end| (one, end)))
}

fn first_of_locks(case: &Case, spans: impl Fn(u64) -> Vec<Weighted>) -> Option<u64> {
    let locks = 0..case.file.locks.len() as u64;
    locks
        .filter_map(|lock| too_heavy(&spans(lock), case.file.capacity))
        .min()
}

pub fn exclusion(case: &Case) -> Finding {
    let spans = |lock| {
        let all = holds(case, lock).map(|(one, end)| (one.from(), end, one.weight));
        all.collect()
    };
    if let Some(at) = first_of_locks(case, spans) {
        return Finding::violated([ANY], format!("at {at} ns the holds weigh too much"));
    }
    let minted = case
        .file
        .events("probe")
        .find(|line| line.num("permits") > Some(case.file.capacity));
    match minted {
        Some(line) => Finding {
            lines: vec![line.number],
            ..Finding::violated(minted_by(case), String::new())
        },
        None => Finding::plain(Answer::Held),
    }
}

/// Returns the possible causes if a semaphore granted too many permits. If a fault removed the stored number of taken
/// permits, or moved a clock, any cause is possible.
fn minted_by(case: &Case) -> Vec<&'static str> {
    let lost = ["evicted", "flushed", "restarted", "failed-over"];
    let changes = case.file.events("key-changed");
    let mut ends = changes.filter(|line| lost.contains(&line.text("why")));
    let has_jumped = case
        .file
        .events("fault-began")
        .any(|line| line.text("fault") == "clock-jump");
    if ends.next().is_some() || has_jumped {
        vec!["permit-minted", ANY]
    } else {
        vec!["permit-minted"]
    }
}

pub fn lease(case: &Case) -> Finding {
    let spans = |lock, max| {
        let leased = |(one, end): (&Attempt, u64)| {
            let parts = one.leased(max).into_iter();
            let weight = one.weight;
            let cut = parts.filter(move |(from, _)| *from <= end);
            cut.map(move |(from, until)| (from, until.min(end), weight))
        };
        holds(case, lock)
            .flat_map(|hold| leased(hold).collect::<Vec<_>>())
            .collect()
    };
    if let Some(at) = first_of_locks(case, |lock| spans(lock, false)) {
        return Finding::violated([ANY], format!("at {at} ns the leases weigh too much"));
    }
    match first_of_locks(case, |lock| spans(lock, true)) {
        Some(at) => Finding {
            note: format!("at {at} ns the leases may weigh too much"),
            ..Finding::plain(Answer::Unknown)
        },
        None => Finding::plain(Answer::Held),
    }
}

pub fn resource(case: &Case) -> Finding {
    let note = match case.file.kind.as_str() {
        "semaphore" => too_many_at_work(case),
        "rwlock" => torn_read(case),
        _ => None,
    };
    if let Some(note) = note.or_else(|| wrong_stock(case)) {
        return Finding::violated([ANY], note);
    }
    match case.file.events("end").next() {
        Some(_) => Finding::plain(Answer::Held),
        None => Finding::plain(Answer::Unknown),
    }
}

fn too_many_at_work(case: &Case) -> Option<String> {
    let began = |one: &Attempt| {
        let mut changes = case.file.events("stock-changed");
        changes.find(|line| line.op() == Some(one.op))
    };
    let spans = |lock| {
        let at_work = holds(case, lock).filter_map(|(one, end)| Some((began(one)?.at, end, one)));
        at_work
            .map(|(from, end, one)| (from, end, one.weight))
            .collect()
    };
    first_of_locks(case, spans).map(|at| format!("at {at} ns too many are at work"))
}

/// Returns when each writer was in the middle of its change.
fn changes<'a>(case: &'a Case, lock: u64) -> impl Iterator<Item = (u64, u64)> + 'a {
    let firsts = case.file.events("stock-changed");
    firsts
        .filter(move |line| line.num("key") == Some(lock))
        .map(|first| {
            let mut seconds = case.file.events("value-written");
            let second = seconds.find(|line| line.op() == first.op());
            let writer = case.attempts.iter().find(|one| Some(one.op) == first.op());
            let end = writer.map_or(first.at, |writer| writer.until);
            (first.at, second.map_or(end, |second| second.at))
        })
}

fn torn_read(case: &Case) -> Option<String> {
    let differ = |line: &&super::super::line::Line| line.signed("first") != line.signed("second");
    let torn = case.file.events("value-read").filter(differ);
    let mut proven = torn.filter(|second| {
        let mut reads = case.file.events("stock-read");
        let first = reads.find(|line| line.op() == second.op());
        let from = first.map_or(second.at, |line| line.at);
        let lock = second.num("key").unwrap_or_default();
        changes(case, lock).any(|(begin, end)| begin <= second.at && from <= end)
    });
    let line = proven.next()?;
    Some(format!("line {}: two different halves", line.number))
}

fn wrong_stock(case: &Case) -> Option<String> {
    let below = case.file.lines.iter().find(|line| {
        let left = line.signed("stock").or(line.signed("to"));
        matches!(line.event.as_str(), "stock-read" | "stock-changed")
            && left < Some(0)
            && left.is_some()
    });
    if let Some(line) = below {
        return Some(format!("line {}: below zero", line.number));
    }
    let end = case.file.events("end").next()?;
    let (left, sold) = (end.list("stock_left"), end.list("sold"));
    let mut all = left.iter().zip(&sold).enumerate();
    let wrong = |(_, (left, sold)): &(usize, (&i64, &i64))| {
        *left + *sold != case.file.stock || **sold > case.file.stock || **left < 0
    };
    let (lock, (left, sold)) = all.find(wrong)?;
    Some(format!("lock {lock}: {sold} sold and {left} left"))
}
