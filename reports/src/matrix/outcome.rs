//! A cell in words.

use picklock_verdicts::check::{Property, Status};
use picklock_verdicts::record::{Cell, Surprise};

/// What a cell came to, in one line: `as expected`, `lease violated: race, expected held`.
pub fn outcome_in_words(cell: &Cell) -> String {
    if let Some(error) = &cell.error {
        let first = error.lines().next().unwrap_or_default();
        return format!("could not be run: {first}");
    }
    let surprises: Vec<String> = cell
        .surprises
        .iter()
        .map(|one| surprise_in_words(one, cell.runs))
        .collect();
    if !surprises.is_empty() {
        return surprises.join("; ");
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
        true => "nothing violated (nothing is expected of it)".to_owned(),
        false => format!(
            "{} violated (nothing is expected of it)",
            violated.join(", ")
        ),
    }
}

/// `lease violated: race, expected held`, and in how many of several runs.
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

/// How bad a cell is; the smallest is the worst. A property that was expected to hold and was
/// violated comes first, the service's own promises before what clients do with them; then what
/// was expected to break otherwise, or to break and held; then what could not be run or judged.
pub fn severity(cell: &Cell) -> u8 {
    let of = |surprise: &Surprise| {
        let broke = surprise.got.starts_with("violated") && surprise.expected == "held";
        match (broke, surprise.property) {
            (true, Property::Lease) => 0,
            (true, Property::Ownership) => 1,
            (true, Property::Resource) => 2,
            (true, Property::Exclusion) => 3,
            (true, Property::Fencing | Property::Progress) => 4,
            (false, _) if surprise.is_judged() => 5,
            (false, _) => 7,
        }
    };
    let worst = cell.surprises.iter().map(of).min();
    let failed = cell.error.is_some().then_some(6);
    failed.or(worst).unwrap_or(8)
}
