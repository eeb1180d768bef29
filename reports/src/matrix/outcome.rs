//! A cell in words.

use picklock_verdicts::check::{Status, describe};
use picklock_verdicts::expectation::Expectation;
use picklock_verdicts::record::{Cell, Mismatch};

use super::conclusion::NOT_APPLICABLE;

/// The result of a cell in one line: `as expected`, `lease violated: race, expected held`.
pub fn outcome_in_words(cell: &Cell) -> String {
    let mismatches = cell.mismatches.iter();
    // Beside an error only what was judged.
    let told = mismatches.filter(|one| cell.error.is_none() || one.is_judged());
    let mut told: Vec<String> = told.map(|it| describe_mismatch(it, cell.runs)).collect();
    if let Some(error) = &cell.error {
        let first = error.lines().next().unwrap_or_default();
        told.push(format!("could not be run: {first}"));
    }
    if !told.is_empty() {
        return told.join("; ");
    }
    if let Some(reason) = cell.inapplicable() {
        return format!("{NOT_APPLICABLE}: {reason}");
    }
    if cell.is_bound() {
        return "as expected".to_owned();
    }
    let verdicts = cell.verdicts.iter();
    let violated = verdicts.filter(|(_, verdict)| verdict.status == Status::Violated);
    let violated: Vec<&str> = violated.map(|(property, _)| property.as_str()).collect();
    match violated.is_empty() {
        true => "nothing violated (no expectation)".to_owned(),
        false => format!("{} violated (no expectation)", violated.join(", ")),
    }
}

/// `lease violated: race, expected held`, and the number of affected runs.
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

/// The severity of a cell's worst unexpected result; the smallest value is the worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// A property was expected to hold and was violated; with the property's own severity.
    Violated(u8),
    /// A property was violated with another cause than expected, or held unexpectedly.
    Differs,
    /// The cell could not be run.
    NotRun,
    /// A property could not be judged.
    Inconclusive,
    /// Everything is as expected.
    AsExpected,
}

/// The severity of a cell.
pub fn severity(cell: &Cell) -> Severity {
    let of = |mismatch: &Mismatch| {
        let broke =
            mismatch.got.status == Status::Violated && mismatch.expected == Expectation::Held;
        if broke {
            Severity::Violated(describe(mismatch.property).severity)
        } else if mismatch.is_judged() {
            Severity::Differs
        } else {
            Severity::Inconclusive
        }
    };
    let not_run = cell.error.iter().map(|_| Severity::NotRun);
    let all = cell.mismatches.iter().map(of).chain(not_run);
    all.min().unwrap_or(Severity::AsExpected)
}
