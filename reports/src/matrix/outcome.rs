//! A cell in words.

use picklock_verdicts::check::{Status, describe};
use picklock_verdicts::record::{Cell, Surprise};

use super::conclusion::NOT_APPLICABLE;

/// The result of a cell in one line: `as expected`, `lease violated: race, expected held`.
pub fn outcome_in_words(cell: &Cell) -> String {
    let surprises = cell.surprises.iter();
    // Beside an error only what was judged.
    let told = surprises.filter(|one| cell.error.is_none() || one.is_judged());
    let mut told: Vec<String> = told.map(|it| surprise_in_words(it, cell.runs)).collect();
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
    let violated: Vec<&str> = violated.map(|(property, _)| property.word()).collect();
    match violated.is_empty() {
        true => "nothing violated (no expectation)".to_owned(),
        false => format!("{} violated (no expectation)", violated.join(", ")),
    }
}

/// `lease violated: race, expected held`, and the number of affected runs.
pub(crate) fn surprise_in_words(surprise: &Surprise, runs: u64) -> String {
    let often = match runs {
        1 => String::new(),
        _ => format!(" ({} of {runs} runs)", surprise.runs),
    };
    let got = match surprise.is_judged() {
        true => surprise.got.as_str(),
        false => "could not be judged",
    };
    let (property, expected) = (surprise.property, &surprise.expected);
    format!("{property} {got}, expected {expected}{often}")
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
