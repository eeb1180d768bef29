//! The lease that a lock reports: whether it is written, for as long as reported. The table in [`super::claims`] states
//! how the definitions are read.

use std::collections::BTreeSet;

use super::answer::{Answer, Finding};
use super::attempt::{Attempt, Report};
use super::cause::Case;
use super::key_history::{End, Value};
use super::line::MS;

/// A grant that rests on values of another client with the same token. Whether it is backed is open.
pub const SAME_TOKEN: &str = "another client wrote the same token";

/// Finds a grant without a value, whatever validity it reported.
pub fn unwritten(case: &Case, attempt: &Attempt) -> Option<(u64, Finding)> {
    let note = format!("op {} was granted the lock without a value", attempt.op);
    let causes = ["unbacked-grant", "stale-reply"];
    (case.is_unwritten(attempt) && !case.may_rest_on_doubt(attempt))
        .then(|| (attempt.from(), Finding::violated(causes, note)))
}

/// Finds a report of more validity than was written.
pub fn overstated(case: &Case, attempt: &Attempt) -> Option<(u64, Finding)> {
    // A reported validity of 0 claims nothing.
    let mut reports = attempt
        .reports
        .iter()
        .filter(|report| report.claims && report.min > report.at)
        .filter(|report| attempt.release.is_none_or(|sent| report.at <= sent));
    reports.find_map(|report| judge_report(case, attempt, report))
}

fn judge_report(case: &Case, attempt: &Attempt, report: &Report) -> Option<(u64, Finding)> {
    let mut worth: Vec<u64> = Vec::new();
    let is_named = report.is_grant && case.names_token(attempt);
    for node in 0..case.file.nodes as u64 {
        let mine = rested_on(case, attempt, report)
            .filter(|value| value.node == node)
            .filter(|value| !is_named || value.text.contains(&attempt.token));
        // A value that the attempt removed itself backs nothing.
        let undone = |value: &Value| {
            let back = matches!(&value.end, End::Removed(by)
                if by.op == attempt.op && by.phase == "acquire");
            back && value.until <= report.at
        };
        let written = mine.filter(|value| value.from <= report.at && !undone(value));
        let written = written.filter(|value| !report.is_grant || !case.had_run_out(attempt, value));
        worth.extend(written.map(|value| value.runs_out(report.at)).max());
    }
    worth.sort_unstable_by(|one, other| other.cmp(one));
    let need = case.need();
    let note = |worth: u64| {
        format!(
            "op {} reported a lease until {} at {}, written until {worth}",
            attempt.op, report.min, report.at
        )
    };
    let Some(worth) = worth.get(need - 1).copied() else {
        let same = case.key_history.values_of_lock(attempt.key);
        let same =
            same.filter(|value| value.exists_at(report.at) && value.text.contains(&attempt.token));
        let nodes: BTreeSet<u64> = same.map(|value| value.node).collect();
        if report.is_grant && nodes.len() >= need {
            return Some((report.at, Finding::plain(Answer::Undecided(SAME_TOKEN))));
        }
        let causes = if report.is_grant {
            vec!["unbacked-grant"]
        } else {
            vec!["unbacked-grant", "wrong-expiry"]
        };
        return Some((report.at, Finding::violated(causes, note(0))));
    };
    // The difference is below the precision of these values.
    if report.min <= worth.saturating_add(MS) {
        return None;
    }
    let wrote = case.key_history.values_of_attempt(attempt).next().is_some();
    if !wrote && worth <= report.at {
        return Some((
            report.at,
            Finding::violated(["unbacked-grant", "wrong-expiry"], note(worth)),
        ));
    }
    let mut rested = rested_on(case, attempt, report);
    let is_named = wrote || rested.any(|value| value.text.contains(&attempt.token));
    let finding = if report.min - worth < 5 * MS {
        Finding {
            note: note(worth),
            ..Finding::plain(Answer::Undecided("some milliseconds too long"))
        }
    } else {
        let mut causes = vec!["wrong-expiry", "stale-reply"];
        causes.extend((!is_named).then_some("unbacked-grant"));
        Finding::violated(causes, note(worth))
    };
    Some((report.at, finding))
}

/// Returns the values that a report rests on: the attempt's own values or, if it wrote none, its client's values that
/// are still there.
fn rested_on<'a>(
    case: &'a Case,
    attempt: &'a Attempt,
    report: &Report,
) -> impl Iterator<Item = &'a Value> {
    let wrote = case
        .key_history
        .values_of_attempt(attempt)
        .any(|value| value.from <= report.at);
    let at = report.at;
    let values = case.key_history.values_of_lock(attempt.key);
    values.filter(move |value| {
        if wrote {
            return value.owner == Some((attempt.worker, attempt.op));
        }
        let owner = value.owner;
        owner.is_some_and(|(worker, _)| worker == attempt.worker) && value.exists_at(at)
    })
}
