//! Exclusion, lease and resource.
//!
//! This judge's interpretation where the definitions leave something open:
//!
//! | open | read as |
//! |---|---|
//! | a hold without an end | it lasts until the last line of the history |
//! | `lost`, and a refused extension | the client may not rely on its lease from then on |
//! | which of several overlaps gives the cause | the earliest |
//! | leases that only may overlap | `unknown` |
//! | which hold damaged the stock | the first one that changed it to, or read it as, less than zero; if only the sum is wrong, each one that overwrote a change |
//! | why the stock was damaged | the reason why that hold overlapped with one that changed the stock between its reading and its writing; also `phantom-extend` if its lease had expired and was extended after that |
//! | several such changes | each may be named |
//! | a read that shows an earlier time | the changes since that time came between; one that was made before the read is `stale-read` |
//! | a belated change | its own cause, if the leases did not overlap and the other client was granted the lock after the change was requested; on a failure path the other client may have been earlier |

use std::fmt::Write;

use super::answer::{Answer, Finding};
use super::attempt::{Attempt, overlap};
use super::cause::Case;
use super::line::Line;

type Pair<'a> = (&'a Attempt, &'a Attempt);

fn pairs<'a>(case: &'a Case) -> Vec<Pair<'a>> {
    let holds: Vec<&Attempt> = case.attempts.iter().filter(|one| one.granted()).collect();
    let mut pairs = Vec::new();
    for (index, one) in holds.iter().enumerate() {
        let same = |other: &&&Attempt| other.key == one.key;
        pairs.extend(
            holds[index + 1..]
                .iter()
                .filter(same)
                .map(|other| (*one, *other)),
        );
    }
    pairs
}

/// Returns the pairs that begin to overlap first.
fn first<'a>(
    pairs: &[Pair<'a>],
    when: impl Fn(&Attempt, &Attempt) -> Option<u64>,
) -> Option<(u64, Vec<Pair<'a>>)> {
    let all = pairs.iter();
    let timed = all.filter_map(|(one, other)| when(one, other).map(|at| (at, (*one, *other))));
    let timed: Vec<(u64, Pair<'a>)> = timed.collect();
    let at = timed.iter().map(|(at, _)| *at).min()?;
    let firsts = timed.into_iter().filter(|(when, _)| *when == at);
    Some((at, firsts.map(|(_, pair)| pair).collect()))
}

fn holds_overlap(one: &Attempt, other: &Attempt) -> Option<u64> {
    overlap(one.hold(), other.hold())
}

fn named(at: u64, pairs: &[Pair]) -> String {
    let ops = pairs.iter().map(|(one, other)| {
        let deadline = |attempt: &Attempt| attempt.deadline_at(at);
        format!(
            "ops {} (lease {}) and {} (lease {})",
            one.op,
            deadline(one),
            other.op,
            deadline(other)
        )
    });
    format!("at {at} ns: {}", ops.collect::<Vec<_>>().join(", "))
}

pub fn exclusion(case: &Case) -> Finding {
    let pairs = pairs(case);
    match first(&pairs, holds_overlap) {
        None => Finding::plain(Answer::Held),
        Some((at, firsts)) => {
            let causes = firsts
                .iter()
                .flat_map(|(one, other)| case.hold_causes(one, other, at));
            Finding::violated(causes.collect::<Vec<_>>(), named(at, &firsts))
        }
    }
}

pub fn lease(case: &Case) -> Finding {
    let pairs = pairs(case);
    let certain = |one: &Attempt, other: &Attempt| Case::leases_overlap(one, other, false);
    if let Some((at, firsts)) = first(&pairs, certain) {
        let causes = firsts
            .iter()
            .flat_map(|(one, other)| case.lease_causes(one, other, at));
        return Finding::violated(causes.collect::<Vec<_>>(), named(at, &firsts));
    }
    let possible = |one: &Attempt, other: &Attempt| Case::leases_overlap(one, other, true);
    match first(&pairs, possible) {
        Some((at, firsts)) => Finding {
            note: named(at, &firsts),
            ..Finding::plain(Answer::Unknown)
        },
        None => Finding::plain(Answer::Held),
    }
}

pub fn resource(case: &Case) -> Finding {
    let end = case.file.events("end").next();
    let mut below: Vec<(u64, Vec<&'static str>, String)> = Vec::new();
    let mut sums: Option<(Vec<&'static str>, String)> = None;
    for key in 0..case.file.locks.len() as u64 {
        let of_key = |line: &&Line| line.num("key") == Some(key);
        let accesses = case.file.lines.iter().filter(of_key);
        let accesses: Vec<&Line> = accesses
            .filter(|line| matches!(line.event.as_str(), "stock-read" | "stock-changed"))
            .collect();
        let first = accesses.iter().position(|line| {
            let left = line.signed("stock").or(line.signed("to"));
            left.is_some_and(|left| left < 0)
        });
        if let Some(at) = first {
            let line = accesses[at];
            below.push((
                line.at,
                access_causes(case, &accesses, at),
                format!("line {}", line.number),
            ));
        }
        if !adds_up(case, key, end) {
            let (causes, note) = sums.get_or_insert_default();
            for (at, line) in accesses.iter().enumerate() {
                if line.event == "stock-changed" {
                    causes.extend(access_causes(case, &accesses, at));
                }
            }
            write!(note, "the sum of lock {key}").ok();
        }
    }
    below.sort();
    match (below.into_iter().next(), sums, end) {
        (Some((_, causes, note)), _, _) | (None, Some((causes, note)), _) => {
            Finding::violated(causes, note)
        }
        (None, None, Some(_)) => Finding::plain(Answer::Held),
        (None, None, None) => Finding::plain(Answer::Unknown),
    }
}

fn adds_up(case: &Case, key: u64, end: Option<&Line>) -> bool {
    let of = |name: &str| end.and_then(|end| end.list(name).get(key as usize).copied());
    match (of("stock_left"), of("sold")) {
        (Some(left), Some(sold)) => {
            sold + left == case.file.stock && sold <= case.file.stock && left >= 0
        }
        _ => true,
    }
}

/// Returns the read that an access is based on, and the changes by others since the time that it shows.
fn between<'a>(line: &Line, accesses: &[&'a Line]) -> Option<(&'a Line, Vec<&'a Line>)> {
    let before = accesses.iter().filter(|other| other.number < line.number);
    let before: Vec<&Line> = before.copied().collect();
    let mine = |other: &&Line| other.op() == line.op() && other.event == "stock-read";
    let read = before.iter().copied().rfind(mine)?;
    let is_shown = |other: &Line| match read.num("as_of_ns") {
        Some(as_of) => other.at <= as_of,
        None => other.number < read.number,
    };
    let change = |other: &&Line| {
        other.event == "stock-changed" && !is_shown(other) && other.op() != line.op()
    };
    Some((read, before.into_iter().filter(change).collect()))
}

/// Returns the possible causes why others could change the stock between an access and its read.
fn access_causes(case: &Case, accesses: &[&Line], at: usize) -> Vec<&'static str> {
    let line = accesses[at];
    let hold = |line: &Line| case.attempts.iter().find(|one| Some(one.op) == line.op());
    let mut causes = Vec::new();
    let Some((read, changes)) = between(line, accesses) else {
        return causes;
    };
    for other in changes {
        let (Some(one), Some(against)) = (hold(line), hold(other)) else {
            continue;
        };
        let outside = if other.number < read.number {
            Some("stale-read")
        } else {
            came_late(line, against).or_else(|| came_late(other, one))
        };
        if Case::leases_overlap(one, against, false).is_none() {
            causes.extend(outside);
        }
        if outside.is_some() && Case::leases_overlap(one, against, true).is_none() {
            continue;
        }
        match overlap(one.hold(), against.hold()) {
            Some(met) if revived(one, other, line) => {
                causes.push("phantom-extend");
                causes.extend(case.hold_causes(one, against, met));
            }
            Some(met) => causes.extend(case.hold_causes(one, against, met)),
            None => causes.extend(["undetermined", "race"]),
        }
    }
    causes
}

/// Returns the cause of a change that was applied later than requested, if it was.
fn came_late(change: &Line, rival: &Attempt) -> Option<&'static str> {
    let belated = change.raw("belated");
    let requested_at = belated["requested_at_ns"].as_u64()?;
    match belated["by"].as_str()? {
        "unchecked-write" => Some("unchecked-write"),
        _ if rival.from() < requested_at => None,
        "late-commit" => Some("released-before-commit"),
        _ => Some("late-write"),
    }
}

/// Returns `true` if an extension was granted, to a lease that was over, between the other client's change and its own
/// change.
fn revived(one: &Attempt, other: &Line, line: &Line) -> bool {
    one.reports.iter().any(|report| {
        let between = report.at >= other.at && report.at <= line.at;
        !report.is_grant && report.min > 0 && between && one.deadline_at(report.at - 1) < report.at
    })
}
