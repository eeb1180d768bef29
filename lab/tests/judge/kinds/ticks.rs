//! Jobs that run once per tick.
//!
//! | open | read as |
//! |---|---|
//! | the cause of a second job | `ran-twice` if every value of the first job's hold had been removed by its own release when the second client took the lock; otherwise any cause |
//! | the cause of a skipped tick | `no-ttl` is allowed as well: a key without expiry keeps the lock taken |
//! | the attempts for a tick | those of a client since it got the tick, and before it got the next one; with `catch-up` all since then |
//! | refused while a client could hold the lock for a part of the attempt | undecided |
//! | a fault that keeps a client from Redis | a partition, a pause or a crash of the client or of a node; whether a delay, a drop, a hold, a cut, an error or an exhaustion does is undecided |
//! | a fault on some nodes of several | undecided |

use std::collections::BTreeMap;

use super::super::answer::{Answer, Finding};
use super::super::attempt::{self, Attempt, overlap};
use super::super::cause::Case;
use super::super::compare::ANY;
use super::super::key_history::End;
use super::super::line::{Line, Schedule};

type Span = (u64, u64);

pub fn once(case: &Case) -> Finding {
    let Some(schedule) = case.file.schedule else {
        return Finding::plain(Answer::NotApplicable);
    };
    let mut jobs: BTreeMap<(u64, u64), Vec<&Line>> = BTreeMap::new();
    for line in case.file.events("job-began") {
        let (Some(key), Some(tick)) = (line.num("key"), line.num("tick")) else {
            continue;
        };
        jobs.entry((key, tick)).or_default().push(line);
    }
    let twice = jobs.values().filter(|jobs| jobs.len() > 1);
    let mut found: Vec<(u64, Finding)> = twice
        .map(|jobs| (jobs[1].at, ran_twice(case, jobs)))
        .collect();
    let (mut unknown, mut undecided) = (None, None);
    for key in 0..case.file.locks.len() as u64 {
        for tick in 1..=schedule.ticks {
            if jobs.contains_key(&(key, tick)) || schedule.interval * tick > case.file.end() {
                continue;
            }
            match skipped(case, schedule, key, tick) {
                Skip::No => {}
                Skip::At(at, note) => {
                    found.push((at, Finding::violated(["skipped-tick", "no-ttl"], note)))
                }
                Skip::Excused(note) => unknown = Some(note),
                Skip::Undecided(why) => undecided = Some(why),
            }
        }
    }
    found.sort_by_key(|(at, _)| *at);
    match (found.into_iter().next(), undecided, unknown) {
        (Some((_, finding)), _, _) => finding,
        (None, Some(why), _) => Finding::plain(Answer::Undecided(why)),
        (None, None, Some(note)) => Finding {
            note,
            ..Finding::plain(Answer::Unknown)
        },
        (None, None, None) => Finding::plain(Answer::Held),
    }
}

fn ran_twice(case: &Case, jobs: &[&Line]) -> Finding {
    let hold = |line: &Line| case.attempts.iter().find(|one| Some(one.op) == line.op());
    let note = format!("lines {} and {}", jobs[0].number, jobs[1].number);
    let (Some(one), Some(other)) = (hold(jobs[0]), hold(jobs[1])) else {
        return Finding::violated([ANY], note);
    };
    let taken = case.key_history.values_of_attempt(other);
    let taken = taken.map(|value| value.from).min().unwrap_or(other.from());
    let values = || case.key_history.values_of_attempt(one);
    let returned = values().count() > 0
        && values().all(|value| match &value.end {
            End::Removed(by) => by.op == one.op && by.phase == "release" && value.until <= taken,
            _ => false,
        });
    let apart = overlap(one.hold(), other.hold()).is_none();
    let cause = if apart && returned { "ran-twice" } else { ANY };
    Finding::violated([cause], note)
}

enum Skip {
    No,
    At(u64, String),
    Excused(String),
    Undecided(&'static str),
}

fn skipped(case: &Case, schedule: Schedule, key: u64, tick: u64) -> Skip {
    let tried = attempts_for(case, schedule, key, tick);
    let due = schedule.interval * tick;
    let last = tried.iter().map(|one| one.answered).max();
    let until = last.unwrap_or(due + schedule.clock_shift);
    match kept_away(case, (due, until)) {
        Some(true) => return Skip::Excused(format!("tick {tick} of key {key}: faults")),
        Some(false) if !tried.is_empty() => {
            return Skip::Undecided("a fault may have kept them away");
        }
        _ => {}
    }
    let mut partly = false;
    for one in &tried {
        let is_denied = matches!(
            one.answer,
            attempt::Answer::Refused | attempt::Answer::Failed(_)
        );
        if !is_denied {
            continue;
        }
        let held = held_by_any(case, one);
        match free_part(&held, (one.requested_at, one.answered)) {
            Free::All => {
                let note = format!("tick {tick} of key {key}: op {} found it free", one.op);
                return Skip::At(one.answered, note);
            }
            Free::Part => partly = true,
            Free::Nothing => {}
        }
    }
    if partly {
        return Skip::Undecided("the lock was free for a part of an attempt");
    }
    Skip::No
}

fn attempts_for(case: &Case, schedule: Schedule, key: u64, tick: u64) -> Vec<&Attempt> {
    let due_of = |one: &&Attempt| {
        let came = case
            .file
            .events("tick-due")
            .filter(|line| line.num("worker") == Some(one.worker) && line.at <= one.requested_at);
        came.filter_map(|line| line.num("tick")).max()
    };
    let all = case.attempts.iter().filter(|one| one.key == key);
    all.filter(|one| {
        let due = due_of(one);
        due == Some(tick) || (schedule.catches_up && due > Some(tick))
    })
    .collect()
}

/// Returns the times at which clients held this attempt's lock, or could still hold it.
fn held_by_any(case: &Case, denied: &Attempt) -> Vec<Span> {
    let others = case.attempts.iter().filter(|one| one.key == denied.key);
    others.filter_map(|one| could_hold(case, one)).collect()
}

fn could_hold(case: &Case, one: &Attempt) -> Option<Span> {
    let lease = one.extensions.iter().copied().fold(one.ttl, u64::max);
    let until = match one.answer {
        attempt::Answer::Refused | attempt::Answer::Failed(true) => return None,
        attempt::Answer::Failed(false) | attempt::Answer::None => one.answered + lease,
        attempt::Answer::Granted => match one.released {
            Some((at, _)) if one.release_failed => at + lease,
            Some((at, _)) => at + case.file.min_hold,
            None if one.killed => one.until + lease,
            None => u64::MAX,
        },
    };
    Some((one.requested_at, until))
}

enum Free {
    All,
    Part,
    Nothing,
}

fn free_part(held: &[Span], (from, until): Span) -> Free {
    let mut touching: Vec<&Span> = held
        .iter()
        .filter(|span| span.0 <= until && from <= span.1)
        .collect();
    if touching.is_empty() {
        return Free::All;
    }
    touching.sort();
    let mut covered = from;
    for span in touching {
        if span.0 > covered {
            return Free::Part;
        }
        covered = covered.max(span.1);
    }
    if covered < until {
        Free::Part
    } else {
        Free::Nothing
    }
}

/// Returns `Some(true)` if faults certainly kept every client away, `Some(false)` if they may have done so, and `None`
/// if they did not.
fn kept_away(case: &Case, (from, until): Span) -> Option<bool> {
    let faults: Vec<(&Line, u64)> = case
        .file
        .events("fault-began")
        .map(|began| {
            let end = case.end_of(began).unwrap_or(u64::MAX);
            (began, end.saturating_add(case.file.ttl))
        })
        .filter(|(began, end)| began.at <= until && from <= *end)
        .collect();
    let by = |worker: u64| {
        let all = faults.iter().filter_map(|(began, _)| {
            let (workers, nodes) = (began.list("workers"), began.list("nodes"));
            let its = workers.is_empty() || workers.contains(&(worker as i64));
            let every_node = nodes.is_empty() || nodes.len() >= case.file.nodes;
            let certain = match began.text("fault") {
                "pause-client" | "crash-client" => true,
                "partition" | "pause-node" | "crash-node" => every_node,
                "delay" | "drop" | "hold" | "answer" | "false-answer" | "cut" | "exhaust"
                | "failover" | "pause-task" => false,
                _ => return None,
            };
            its.then_some(certain)
        });
        all.max()
    };
    (0..case.file.workers).map(by).min().flatten()
}
