//! The failures of a cell, and the descriptions of its verdicts.

use picklock_verdicts::check::{Cause, Property, Status, Verdict, Verdicts, describe};
use picklock_verdicts::expectation::Expectation;
use picklock_verdicts::record::{Cell, Mismatch, RecordedVerdict};

use crate::matrix::lock_with_options;

/// Returns the status of a whole run: the worst of all verdicts.
pub fn overall(verdicts: &Verdicts) -> Status {
    let any = |status| verdicts.values().any(|verdict| verdict.status == status);
    if any(Status::Violated) {
        Status::Violated
    } else if any(Status::Unknown) || verdicts.is_empty() {
        Status::Unknown
    } else if any(Status::Held) {
        Status::Held
    } else {
        Status::NotApplicable
    }
}

/// Returns the unexpected results of the cell. A cell without expectations, such as the record of a single
/// run, is expected to keep every property, so its violated and inconclusive properties are returned.
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
        // Only the verdict of the shown run has a cause.
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

/// Returns `true` if an expected property is inconclusive.
pub fn is_undecided(failure: &Mismatch) -> bool {
    failure.got.status == Status::Unknown
}

/// Returns the name of the cell, such as `redlock × gc-pause × sim`, including the lock's options.
pub fn title(cell: &Cell) -> String {
    let lock = lock_with_options(cell);
    format!("{lock} × {} × {}", cell.scenario, cell.backend)
}

/// Returns the story of the violation of this property in the shown run. If the unexpected result occurred in another
/// run, returns the story of any violated property.
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

/// Returns one line that explains this verdict on `property`.
pub fn verdict_line(property: Property, verdict: &Verdict) -> String {
    let usual = match verdict.status {
        Status::Held => describe(property).held,
        Status::Unknown => "could not be decided",
        Status::NotApplicable => describe(property).not_applicable,
        Status::Violated => {
            let why = verdict.cause.unwrap_or(Cause::Undetermined).meaning();
            return match verdict.violations {
                0 | 1 => why,
                times => format!("{why} ({times} times)"),
            };
        }
    };
    verdict
        .story
        .first()
        .cloned()
        .unwrap_or_else(|| usual.to_owned())
}
