//! The status of a cell: what in it is a failure, and which cell should be read first.

use picklock_verdicts::check::{Cause, Property, Status, Verdict, describe};
use picklock_verdicts::expectation::Expectation;
use picklock_verdicts::record::{Cell, Mismatch, RecordedVerdict};

use crate::matrix::{CellOutcome, lock_with_options};

/// The status of a cell, the worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CellStatus {
    /// A verdict is not as expected, or a property was violated without an expectation.
    Failed,
    /// The cell could not be run, and no run of it failed.
    NotRun,
    /// A property was violated, as expected.
    Violated,
    /// A property could not be decided, and that is not a failure.
    Unknown,
    /// Everything that was judged held.
    Held,
    /// The scenario asks for something that the lock or the backend does not offer.
    NotApplicable,
}

/// The status of this cell.
pub fn status(cell: &Cell) -> CellStatus {
    let any = |status| cell.verdicts.values().any(|it| it.status == status);
    if CellOutcome::from_cell(cell) == CellOutcome::NotRun {
        CellStatus::NotRun
    } else if cell.inapplicable().is_some() {
        CellStatus::NotApplicable
    } else if !failures(cell).is_empty() {
        CellStatus::Failed
    } else if any(Status::Violated) {
        CellStatus::Violated
    } else if any(Status::Unknown) {
        CellStatus::Unknown
    } else {
        CellStatus::Held
    }
}

/// What a reader must see first: the unexpected results of the cell. Of an open cell, and in the record of a
/// single run, which does not contain its scenario's expectations, every property is expected to hold,
/// and those that did not are listed.
pub fn failures(cell: &Cell) -> Vec<Mismatch> {
    if !cell.expected.is_empty() || !cell.mismatches.is_empty() {
        return cell.mismatches.clone();
    }
    let unmet = cell.tally.iter().filter_map(|(property, tally)| {
        let (status, runs) = match (tally.violated, tally.unknown) {
            (0, 0) => return None,
            (0, unknown) => (Status::Unknown, unknown),
            (violated, _) => (Status::Violated, violated),
        };
        // The run that is shown has a cause.
        let shown = cell.verdicts.get(property);
        let shown = shown.filter(|verdict| verdict.status == status);
        Some(Mismatch {
            property: *property,
            expected: Expectation::Held,
            got: shown.map_or(status.into(), RecordedVerdict::from),
            runs,
        })
    });
    unmet.collect()
}

/// True if a property with an expectation could not be decided.
pub fn is_undecided(failure: &Mismatch) -> bool {
    failure.got.status == Status::Unknown
}

/// The cell in words: `redlock × gc-pause × sim`; the lock with its options.
pub fn title(cell: &Cell) -> String {
    let lock = lock_with_options(cell);
    format!("{lock} × {} × {}", cell.scenario, cell.backend)
}

/// The sign of a property's status; that of `not-applicable` if the cell has no verdict on it.
pub fn sign(cell: &Cell, property: Property) -> &'static str {
    let verdict = cell.verdicts.get(&property);
    let status = verdict.map_or(Status::NotApplicable, |verdict| verdict.status);
    status.sign()
}

/// The story of this property in the shown run. If it has none there, because the unexpected result occurred
/// in another run, the story of another violated property.
pub fn story(cell: &Cell, property: Property) -> &[String] {
    let own = cell.verdicts.get(&property);
    let any = || {
        let mut verdicts = cell.verdicts.values();
        verdicts.find(|verdict| verdict.status == Status::Violated)
    };
    own.filter(|verdict| !verdict.story.is_empty())
        .or_else(any)
        .map_or(&[], |verdict| &verdict.story)
}

/// The meaning of this verdict on `property`.
pub fn verdict_line(property: Property, verdict: &Verdict) -> String {
    let usual = match verdict.status {
        Status::Held => describe(property).held,
        Status::Unknown => "could not be decided",
        Status::NotApplicable => describe(property).not_applicable,
        Status::Violated => {
            let why = verdict.cause.unwrap_or(Cause::Undetermined).meaning();
            return match verdict.violations {
                0 | 1 => why.to_owned(),
                times => format!("{why} ({times} times)"),
            };
        }
    };
    let said = verdict.story.first().cloned();
    said.unwrap_or_else(|| usual.to_owned())
}
