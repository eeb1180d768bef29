//! Locks that promise renewal and are silent about a loss.
//!
//! This judge's interpretation where the definitions leave something open:
//!
//! | open | read as |
//! |---|---|
//! | a loss | the key of a value ran out during the hold, before the run ended its clients, and the values that remained were too few for a grant |
//! | what excuses it | a fault that was active since the last renewal, or ended at that time: equal times prove no order |
//! | what excuses the silence after an excused loss | the time of the faults that concern this client, since its request, and a tenth of a lease. A wrong clock excuses any silence. But no fault excuses the silence before it |
//! | faults that do not concern a client | freezes and deaths of other clients |
//! | the end of the silence | the report of the loss, an extension that is granted, or the end of the hold |

use super::answer::Finding;
use super::attempt::Attempt;
use super::cause::Case;
use super::key_history::{End, Value};
use super::line::{File, Line, TENTH};

/// Finds a loss that the lock did not report although it promises renewal.
pub fn silent_loss(case: &Case, attempt: &Attempt) -> Option<(u64, Finding)> {
    let file = &case.file;
    let clients_end = file.events("commands-sent").map(|line| line.at).next();
    let end = attempt.until.min(clients_end.unwrap_or(u64::MAX));
    let own: Vec<&Value> = case.key_history.values_of_attempt(attempt).collect();
    let remaining = |at: u64| {
        let nodes = own.iter().filter(|one| one.exists_at(at));
        let nodes: std::collections::BTreeSet<u64> = nodes.map(|one| one.node).collect();
        nodes.len()
    };
    let lost = own.iter().find(|value| {
        let at = value.until;
        value.end == End::RanOut
            && attempt.from() <= at
            && at < end
            && remaining(at) < case.need()
            && remaining(at - 1) >= case.need()
    });
    let lost = lost.filter(|_| file.renews)?;
    let of_op = |event: &'static str, since: u64| {
        let mut lines = file.events(event);
        let line = lines.find(|line| line.op() == Some(attempt.op) && line.at >= since);
        line.map(|line| line.at)
    };
    let reported = of_op("lost", 0);
    if reported.is_some_and(|at| at <= lost.until) {
        return None;
    }
    let renewed = lost.expiries.last().map_or(lost.from, |one| one.at);
    let note = format!("op {} lost its key silently at {}", attempt.op, lost.until);
    let silent = (lost.until, Finding::violated(["silent-loss"], note));
    let faults: Vec<(&Line, u64)> = file
        .events("fault-began")
        .map(|line| (line, case.end_of(line).unwrap_or(u64::MAX)))
        .collect();
    let touches =
        |(line, until): &&(&Line, u64), from: u64, to: u64| line.at < to && *until >= from;
    if !faults
        .iter()
        .any(|fault| touches(&fault, renewed, lost.until))
    {
        return Some(silent);
    }
    let answers = [reported, of_op("extend-granted", lost.until), Some(end)];
    let answered = answers.into_iter().flatten().min()?;
    let own_faults = faults
        .iter()
        .filter(|(line, _)| concerns(line, attempt.worker));
    let later = own_faults.clone().map(|(line, _)| line.at);
    let ends = later.filter(|at| (lost.until..answered).contains(at));
    let is_silent = ends.chain([answered]).any(|end| {
        let span = (attempt.requested_at, end);
        let by_then = own_faults.clone();
        let excused = covered(by_then.filter(|fault| touches(fault, span.0, end)), span);
        excused.is_some_and(|excused| end - lost.until > excused + file.ttl / TENTH)
    });
    is_silent.then_some(silent)
}

fn concerns(line: &Line, worker: u64) -> bool {
    let kinds = [
        "pause-client",
        "pause-task",
        "crash-client",
        "terminate-client",
    ];
    let workers = line.list("workers");
    let of_others = !workers.is_empty() && !workers.contains(&(worker as i64));
    !(of_others && kinds.contains(&line.text("fault")))
}

/// Returns for how long these faults were active in this span, or `None` if one of them set a clock.
fn covered<'a>(
    faults: impl Iterator<Item = &'a (&'a Line, u64)>,
    (from, to): (u64, u64),
) -> Option<u64> {
    let mut spans = Vec::new();
    for (line, until) in faults {
        if matches!(line.text("fault"), "clock-jump" | "clock-skew") {
            return None;
        }
        spans.push((line.at.max(from), (*until).min(to)));
    }
    spans.sort_unstable();
    let (mut total, mut done) = (0, from);
    for (start, end) in spans {
        total += end.saturating_sub(start.max(done));
        done = done.max(end);
    }
    Some(total)
}

/// Returns `true` if the run has a shared token: two attempts have the same token, or wrote the same value, or a
/// command named a value that its client had neither written nor read.
pub fn shares_a_token(case: &Case) -> bool {
    let tokens = case.attempts.iter().map(|one| (one.token.as_str(), one.op));
    let values = case.key_history.values.iter();
    let written = values.filter_map(|one| {
        let author = one.author.as_ref()?;
        (author.phase == "acquire").then_some((one.text.as_str(), author.op))
    });
    let mut seen: std::collections::BTreeMap<&str, u64> = std::collections::BTreeMap::new();
    let mut all = tokens.chain(written).filter(|(text, _)| !text.is_empty());
    let mut changes = case.file.events("key-changed");
    changes.any(|line| line.flag("names_unread_value"))
        || all.any(|(text, op)| *seen.entry(text).or_insert(op) != op)
}

/// Returns `true` if a reply may have come after its client had given up: a fault was active that makes something late.
pub fn can_be_stale(file: &File) -> bool {
    file.events("fault-began").next().is_some()
}

/// Returns the spans in which a holder was frozen and its lease was over: from one lease after the freeze began, and
/// from one lease after each command that wrote or prolonged its value since.
pub fn idle_freezes(case: &Case, hold: &Attempt, lease: u64) -> Vec<(u64, u64)> {
    let freezes = case.file.events("fault-began").filter(|line| {
        let is_freeze = matches!(line.text("fault"), "pause-client" | "pause-task");
        is_freeze && line.list("workers").contains(&(hold.worker as i64))
    });
    let mut spans = Vec::new();
    for line in freezes {
        let end = case.end_of(line).unwrap_or(u64::MAX).min(hold.until);
        let values = case.key_history.values_of_attempt(hold);
        let written = values.flat_map(|value| value.expiries.iter().map(|one| one.at));
        let mut renewed: Vec<u64> = written.filter(|at| line.at < *at && *at < end).collect();
        renewed.push(line.at.max(hold.from()));
        renewed.sort_unstable();
        let next = renewed.iter().skip(1).copied().chain([end]);
        let gaps = (renewed.iter().zip(next)).map(|(at, next)| (at.saturating_add(lease), next));
        spans.extend(gaps.filter(|(from, until)| from < until));
    }
    spans
}
