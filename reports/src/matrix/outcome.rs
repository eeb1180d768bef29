//! A cell in words.

use picklock_verdicts::check::{Status, describe};
use picklock_verdicts::record::{Cell, Surprise};

use super::conclusion::NOT_APPLICABLE;

/// The result of a cell in one line: `as expected`, `lease violated: race, expected held`.
pub fn outcome_in_words(cell: &Cell) -> String {
    let surprises = cell.surprises.iter();
    if let Some(error) = &cell.error {
        let first = error.lines().next().unwrap_or_default();
        let judged = surprises.filter(|one| one.is_judged());
        let mut parts: Vec<String> = judged
            .map(|one| surprise_in_words(one, cell.runs))
            .collect();
        parts.push(format!("could not be run: {first}"));
        return parts.join("; ");
    }
    let surprises: Vec<String> = surprises
        .map(|one| surprise_in_words(one, cell.runs))
        .collect();
    if !surprises.is_empty() {
        return surprises.join("; ");
    }
    if let Some(reason) = cell.inapplicable() {
        return format!("{NOT_APPLICABLE}: {reason}");
    }
    if cell.is_bound() {
        return "as expected".to_owned();
    }
    let violated = cell.verdicts.iter();
    let violated: Vec<&str> = violated
        .filter(|(_, verdict)| verdict.status == Status::Violated)
        .map(|(property, _)| property.word())
        .collect();
    match violated.is_empty() {
        true => "nothing violated (no expectation)".to_owned(),
        false => format!("{} violated (no expectation)", violated.join(", ")),
    }
}

/// `lease violated: race, expected held`, and the number of affected runs.
pub(crate) fn surprise_in_words(surprise: &Surprise, runs: u64) -> String {
    let Surprise {
        property,
        expected,
        got,
        runs: seen,
    } = surprise;
    let often = match runs {
        1 => String::new(),
        _ => format!(" ({seen} of {runs} runs)"),
    };
    match surprise.is_judged() {
        true => format!("{property} {got}, expected {expected}{often}"),
        false => format!("{property} could not be judged, expected {expected}{often}"),
    }
}

/// The severity of a cell's worst surprise; the smallest value is the worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// A property was expected to hold and was violated; with the property's own severity.
    Violated(u8),
    /// A property was violated with another cause than expected, or held unexpectedly.
    Differs,
    /// The cell could not be run.
    NotRun,
    /// A property could not be judged.
    NotJudged,
    /// Everything is as expected.
    AsExpected,
}

/// The severity of a cell.
pub fn severity(cell: &Cell) -> Severity {
    let of = |surprise: &Surprise| {
        let broke = surprise.got.starts_with(Status::Violated.word())
            && surprise.expected == Status::Held.word();
        if broke {
            Severity::Violated(describe(surprise.property).severity)
        } else if surprise.is_judged() {
            Severity::Differs
        } else {
            Severity::NotJudged
        }
    };
    let not_run = cell.error.iter().map(|_| Severity::NotRun);
    let all = cell.surprises.iter().map(of).chain(not_run);
    all.min().unwrap_or(Severity::AsExpected)
}
