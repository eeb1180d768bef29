//! Progress of semaphores and read/write locks.
//!
//! | open | read as |
//! |---|---|
//! | a permit that does not come back | the client of the final inspection got fewer permits than there are |
//! | overtaking | from a writer's first request to its grant, over all requests that were denied: the readers that requested later and were granted earlier, since a fault last began or ended |
//! | no client gets the lock | some request was outstanding for longer than the bound, while no client was granted it, none held it, every lease was over, and no fault had begun or ended within a lease before |
//! | the client of the final inspection waited for less than the bound | `unknown`, if it was refused |
//! | the client of the final inspection was refused, and waited for less than the bound since the end of a lease that could run when it began | undecided |
//! | several clients get permits at once after a wait | the wait ends then, for each of them |
//! | a wait too long, or a permit that did not come back, after a fault that never ends or sets a clock | undecided |

use super::super::answer::{Answer, Finding};
use super::super::attempt::{self, Attempt};
use super::super::cause::Case;
use super::super::compare::ANY;
use super::super::line::{Line, MS};

pub fn progress(case: &Case) -> Finding {
    if let Some(line) = died(case) {
        return Finding {
            lines: vec![line.number],
            ..Finding::violated(["client-died"], String::new())
        };
    }
    let of_client = |began: &Line| {
        matches!(
            began.text("fault"),
            "crash-client" | "clock-skew" | "cut-replication"
        )
    };
    let endless = |began: &Line| case.end_of(began).is_none() && !of_client(began);
    let endless = case.file.events("fault-began").any(endless);
    let starved = starved(case);
    if starved.is_some() && endless {
        return Finding::plain(Answer::Undecided("a fault did not end"));
    }
    if let Some(note) = starved {
        return Finding::violated(["writer-starved", ANY], note);
    }
    let refused = case.file.events("probe").find(|line| !line.flag("granted"));
    let note = waited_in_vain(case);
    let clocks = |line: &Line| matches!(line.text("fault"), "clock-jump" | "clock-skew");
    let clocks = case.file.events("fault-began").any(clocks);
    let suspicious = note.is_some() || refused.is_some() || waits_long(case);
    if suspicious && endless {
        return Finding::plain(Answer::Undecided("a fault did not end"));
    }
    if suspicious && clocks {
        return Finding::plain(Answer::Undecided("a clock was wrong"));
    }
    if note.is_none() && refused.is_none() {
        return Finding::plain(Answer::Held);
    }
    let waited = |line: &Line| line.num("waited_ms").unwrap_or_default() * MS;
    if note.is_none() && refused.is_some_and(|line| waited(line) < case.file.bound) {
        return Finding::plain(Answer::Unknown);
    }
    let is_outstanding = |line: &Line| {
        let began = line.at.saturating_sub(waited(line));
        let runs = |one: &Attempt| over(one) > began && line.at < over(one) + case.file.bound;
        case.attempts.iter().any(runs)
    };
    if note.is_none() && refused.is_some_and(is_outstanding) {
        return Finding::plain(Answer::Undecided(
            "the probe had just its bound and a lease",
        ));
    }
    let note = note.unwrap_or_else(|| "the final inspection".to_owned());
    Finding {
        lines: refused.map(|line| line.number).into_iter().collect(),
        ..Finding::violated([ANY], note)
    }
}

fn died(case: &Case) -> Option<&Line> {
    let mut downs = case.file.events("worker-down");
    downs.find(|line| !line.flag("by_fault") && line.text("ended_by") == "itself")
}

/// Returns `true` if too many readers overtook a writer.
fn starved(case: &Case) -> Option<String> {
    let most = case.file.max_overtakes?;
    let writers = case.attempts.iter().filter(|one| one.weight > 1);
    let mut starved = writers.filter_map(|writer| {
        let since = waiting_since(case, writer);
        let boundary = |line: &&Line| line.event == "fault-began" || line.event == "fault-ended";
        let boundaries = case.file.lines.iter().filter(boundary).map(|line| line.at);
        let mut cuts: Vec<u64> = boundaries
            .filter(|at| since < *at && *at < writer.answered)
            .collect();
        cuts.insert(0, since);
        cuts.push(writer.answered);
        let overtakes = |from: u64, until: u64| {
            let readers = case.attempts.iter().filter(|one| one.weight == 1);
            let later = readers.filter(|one| one.granted() && one.key == writer.key);
            later
                .filter(|one| one.requested_at > from)
                .filter(|one| from < one.from() && one.from() < until)
                .count() as u64
        };
        let spans = cuts.windows(2).map(|cut| (cut[0], cut[1]));
        let undisturbed = spans.filter(|span| !is_disturbed(case, writer, *span));
        let worst = undisturbed
            .map(|(from, until)| overtakes(from, until))
            .max()?;
        (worst > most).then(|| format!("{worst} readers overtook op {}", writer.op))
    });
    starved.next()
}

/// Returns `true` if a fault on a node or on the writer lasts for this span.
fn is_disturbed(case: &Case, writer: &Attempt, (from, until): (u64, u64)) -> bool {
    let mut faults = case.file.events("fault-began");
    faults.any(|began| {
        let concerns = !began.list("nodes").is_empty()
            || began.list("workers").contains(&(writer.worker as i64));
        let mut ends = case.file.events("fault-ended");
        let ended = ends.find(|line| line.num("id") == began.num("id"));
        concerns && began.at <= from && ended.is_none_or(|ended| ended.at >= until)
    })
}

/// Returns when a client first requested the lock that it had not been granted since.
fn waiting_since(case: &Case, client: &Attempt) -> u64 {
    let same = case
        .attempts
        .iter()
        .filter(|one| one.worker == client.worker && one.key == client.key);
    let earlier: Vec<&Attempt> = same
        .filter(|one| one.requested_at <= client.requested_at)
        .collect();
    let denied = earlier
        .iter()
        .rev()
        .skip(1)
        .take_while(|one| !one.granted());
    let first = denied.last().map_or(client, |one| *one);
    first.requested_at
}

/// Returns when the last possible lease of an attempt is over.
fn over(one: &Attempt) -> u64 {
    let lease = one.extensions.iter().copied().fold(one.ttl, u64::max);
    match one.answer {
        attempt::Answer::Refused | attempt::Answer::Failed(true) => 0,
        attempt::Answer::Granted => match one.released {
            Some((at, _)) if !one.release_failed => at,
            _ => one.until.saturating_add(lease),
        },
        _ => one.answered.saturating_add(lease),
    }
}

/// Returns `true` if a client asked for longer than the bound, over all its requests that were denied.
fn waits_long(case: &Case) -> bool {
    case.attempts.iter().any(|one| {
        let waited = one.answered.saturating_sub(waiting_since(case, one));
        waited > case.file.bound
    })
}

fn waited_in_vain(case: &Case) -> Option<String> {
    let mut waiting = case.attempts.iter().filter_map(|one| {
        let same = || case.attempts.iter().filter(|other| other.key == one.key);
        let marks = case.file.lines.iter().filter(|line| {
            line.event == "fault-began"
                || line.event == "fault-ended"
                || line.event == "worker-down"
        });
        let after_faults = marks.map(|line| line.at.saturating_add(one.ttl));
        let others = same().filter(|other| other.op != one.op);
        let grants = others.filter(|other| other.granted()).map(Attempt::from);
        let overs = same().filter(|other| other.op != one.op).map(over);
        let quiet = after_faults.chain(grants).chain(overs);
        let began = one.requested_at;
        let disturbed = quiet
            .filter(|at| *at > began)
            .filter(|at| *at < one.answered)
            .max();
        let until = one.answered;
        let held = same().any(|other| {
            let is_later = other.granted() && other.from() >= until;
            let may_hold = other.requested_at < until && over(other) > until;
            other.op != one.op && may_hold && !is_later
        });
        let from = disturbed.unwrap_or(began).max(began);
        (!held && until.saturating_sub(from) > case.file.bound)
            .then(|| format!("op {} waited from {from} to {until}", one.op))
    });
    waiting.next()
}
