//! Jobs that run once per tick.
//!
//! | open | read as |
//! |---|---|
//! | the cause of a second job | `unbacked-grant` or `stale-reply` if one of the two grants had no value on the servers, or values on too few of them. `ran-twice` if every value of the first job's hold had been removed by its own release when the second client took the lock. Otherwise any cause |
//! | the cause of a skipped tick | `no-ttl` is allowed as well: a key without expiry keeps the lock taken |
//! | the attempts for a tick | those of a client since it got the tick, and before it got the next one; with `catch-up` all since then |
//! | refused while a client could hold the lock for a part of the attempt | undecided |
//! | refused while another refused client was kept away by a fault | undecided: that client may have taken the lock unknowingly |
//! | an attempt without a definite answer | excuses other attempts, and not itself |
//! | refused while a client could hold the lock, and a fault kept it away | the lock was taken, unless no client got an answer |
//! | no attempt for a tick | a fault made the difference if it kept a client away that would have found the lock free |
//! | a fault that keeps a client from Redis | a partition, a pause or a crash of the client or of a node; whether a delay, a drop, a hold, a cut, an error, an exhaustion or a wrong clock does is undecided. So is a cut replication, unless a client that requested the lock meanwhile got it |
//! | a fault on some nodes of several | undecided |
//! | the time for which a fault keeps a client away | until a lease after its end |

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
    let is_unbacked =
        |one: &Attempt| case.is_unwritten(one) || case.need() > 1 && !case.is_backed(one);
    if is_unbacked(one) || is_unbacked(other) {
        return Finding::violated(["unbacked-grant", "stale-reply"], note);
    }
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
    if tried.is_empty() {
        return unattended(case, schedule, key, tick);
    }
    let span = |one: &Attempt| (one.requested_at, one.answered);
    let away = |one: &Attempt| is_kept_away(case, one.worker, span(one));
    let is_unanswered = |one: &Attempt| {
        matches!(
            one.answer,
            attempt::Answer::Failed(_) | attempt::Answer::None
        )
    };
    let cut_off = tried
        .iter()
        .map(|one| away(one).filter(|_| is_unanswered(one)));
    match cut_off.min().flatten() {
        Some(true) => return Skip::Excused(format!("tick {tick} of key {key}: faults")),
        Some(false) => return Skip::Undecided("a fault may have kept them away"),
        None => {}
    }
    let (mut partly, mut perhaps_away) = (false, false);
    let mut only_faults = true;
    for one in &tried {
        let is_denied = matches!(
            one.answer,
            attempt::Answer::Refused | attempt::Answer::Failed(_)
        );
        if !is_denied {
            only_faults = false;
            continue;
        }
        match (free_part(&held_by_any(case, one), span(one)), away(one)) {
            (Free::All, None) if met_kept_away(case, one) => perhaps_away = true,
            (Free::All, None) => {
                let note = format!("tick {tick} of key {key}: op {} found it free", one.op);
                return Skip::At(one.answered, note);
            }
            (Free::All, Some(certain)) => perhaps_away |= !certain,
            (Free::Part, _) => (partly, only_faults) = (true, false),
            (Free::Nothing, _) => only_faults = false,
        }
    }
    if perhaps_away {
        Skip::Undecided("a fault may have kept a client away")
    } else if partly {
        Skip::Undecided("the lock was free for a part of an attempt")
    } else if only_faults {
        Skip::Excused(format!("tick {tick} of key {key}: faults"))
    } else {
        Skip::No
    }
}

/// Returns `true` if another attempt was refused after this one began and began before it ended, and a fault may have
/// kept its client from Redis.
fn met_kept_away(case: &Case, denied: &Attempt) -> bool {
    case.attempts.iter().any(|one| {
        let span = (one.requested_at, one.answered);
        one.key == denied.key
            && one.op != denied.op
            && matches!(one.answer, attempt::Answer::Refused)
            && one.requested_at <= denied.answered
            && denied.requested_at <= one.answered
            && is_kept_away(case, one.worker, span).is_some()
    })
}

/// Judges a tick for which no client requested the lock.
fn unattended(case: &Case, schedule: Schedule, key: u64, tick: u64) -> Skip {
    let others = case.file.workers.saturating_sub(1).max(1);
    let away = (0..case.file.workers).filter_map(|worker| {
        let due = schedule.interval * tick + schedule.clock_shift / others * worker;
        let all = case.attempts.iter().filter(|one| one.key == key);
        let mut held = all.filter_map(|one| could_hold(case, one));
        let is_held = held.any(|span| span.0 <= due && due <= span.1);
        let is_away = is_kept_away(case, worker, (due, due));
        is_away.filter(|_| due < case.file.end() && !is_held)
    });
    match away.max() {
        Some(true) => Skip::Excused(format!("tick {tick} of key {key}: faults, and no attempt")),
        Some(false) => Skip::Undecided("a fault may have kept a client away"),
        None => Skip::No,
    }
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

/// Returns the times at which another attempt held this attempt's lock, or could still hold it.
fn held_by_any(case: &Case, denied: &Attempt) -> Vec<Span> {
    let is_other = |one: &&Attempt| one.key == denied.key && one.op != denied.op;
    let others = case.attempts.iter().filter(is_other);
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

/// Returns `Some(true)` if faults certainly kept a client away, `Some(false)` if they may have done so, and `None` if
/// they did not.
fn is_kept_away(case: &Case, worker: u64, (from, until): Span) -> Option<bool> {
    let end_of = |began: &Line| case.end_of(began).unwrap_or(u64::MAX);
    let active = case.file.events("fault-began").filter(|began| {
        let over = end_of(began).saturating_add(case.file.ttl);
        began.at <= until && from <= over
    });
    let all = active.filter_map(|began| {
        let (workers, nodes) = (began.list("workers"), began.list("nodes"));
        let its = workers.is_empty() || workers.contains(&(worker as i64));
        let every_node = nodes.is_empty() || nodes.len() >= case.file.nodes;
        let certain = match began.text("fault") {
            "pause-client" | "crash-client" => true,
            "partition" | "pause-node" | "crash-node" => every_node,
            "cut-replication" if was_granted_during(case, (began.at, end_of(began))) => {
                return None;
            }
            "delay" | "drop" | "hold" | "answer" | "false-answer" | "cut" | "exhaust"
            | "failover" | "pause-task" | "cut-replication" | "clock-jump" | "clock-skew" => false,
            _ => return None,
        };
        its.then_some(certain)
    });
    all.max()
}

/// Returns `true` if a request that was made in this span was granted.
fn was_granted_during(case: &Case, (from, until): Span) -> bool {
    let mut granted = case.attempts.iter().filter(|one| one.granted());
    granted.any(|one| from <= one.requested_at && one.requested_at < until)
}
