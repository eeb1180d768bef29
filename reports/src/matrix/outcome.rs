//! Descriptions of a cell's result, and its rank.

use picklock_verdicts::check::{Status, describe};
use picklock_verdicts::expectation::Expectation;
use picklock_verdicts::record::{Cell, Mismatch};

use super::conclusion::NOT_APPLICABLE;
use super::severity::Severity;

/// Formats the result of a cell on one line, such as `as expected` or `lease violated: race, expected held`.
pub fn describe_outcome(cell: &Cell) -> String {
    // If a run failed, inconclusive properties are not worth mentioning.
    let mut parts: Vec<String> = (cell.mismatches.iter())
        .filter(|one| cell.error.is_none() || one.is_judged())
        .map(|it| describe_mismatch(it, cell.runs))
        .collect();
    if let Some(error) = &cell.error {
        let first = error.lines().next().unwrap_or_default();
        parts.push(format!("failed to run: {first}"));
    }
    if !parts.is_empty() {
        return parts.join("; ");
    }
    if let Some(reason) = cell.inapplicable() {
        return format!("{NOT_APPLICABLE}: {reason}");
    }
    if cell.is_bound() {
        return "as expected".to_owned();
    }
    let violated: Vec<&str> = (cell.verdicts.iter())
        .filter(|(_, verdict)| verdict.status == Status::Violated)
        .map(|(property, _)| property.as_str())
        .collect();
    if violated.is_empty() {
        "nothing violated (no expectation)".to_owned()
    } else {
        format!("{} violated (no expectation)", violated.join(", "))
    }
}

/// Formats a mismatch, such as `lease violated: race, expected held`, with the number of affected runs.
pub(crate) fn describe_mismatch(mismatch: &Mismatch, runs: u64) -> String {
    let often = match runs {
        1 => String::new(),
        _ => format!(" ({} of {runs} runs)", mismatch.runs),
    };
    let got = match mismatch.got.status {
        Status::Unknown => "inconclusive".to_owned(),
        _ => mismatch.got.to_string(),
    };
    let (property, expected) = (mismatch.property, &mismatch.expected);
    format!("{property} {got}, expected {expected}{often}")
}

/// Returns the sort key of a cell by its worst unexpected result, worst first. The number distinguishes failures by the
/// severity of the violated property.
pub(crate) fn rank(cell: &Cell) -> (Severity, u8) {
    let of_mismatch = |mismatch: &Mismatch| {
        let broke =
            mismatch.got.status == Status::Violated && mismatch.expected == Expectation::Held;
        if broke {
            (Severity::Failed, describe(mismatch.property).severity)
        } else if mismatch.is_judged() {
            (Severity::Failed, u8::MAX)
        } else {
            (Severity::Inconclusive, 0)
        }
    };
    let not_run = cell.error.iter().map(|_| (Severity::NotRun, 0));
    let all = cell.mismatches.iter().map(of_mismatch).chain(not_run);
    all.min().unwrap_or((Severity::AsExpected, 0))
}
