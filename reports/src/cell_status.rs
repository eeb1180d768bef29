//! How a cell came out: what in it is a failure, and which cell comes first in a report.

use picklock_verdicts::check::{Property, Status};
use picklock_verdicts::record::{Cell, Surprise};

/// How a cell came out, the worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CellStatus {
    /// Something differs from what was expected, or was violated where nothing was expected.
    Failed,
    /// It could not be run.
    NotRun,
    /// Something was violated, as expected.
    Violated,
    /// Something could not be decided, and that is no failure.
    Unknown,
    /// Everything that was judged held.
    Held,
}

/// How this cell came out.
pub fn of(cell: &Cell) -> CellStatus {
    let any = |status| {
        cell.verdicts
            .values()
            .any(|verdict| verdict.status == status)
    };
    if cell.error.is_some() {
        CellStatus::NotRun
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

/// The cell's failures: where it differs from what was expected. A single run does not know what its
/// scenario expects; there every property that did not hold is a failure.
pub fn failures(cell: &Cell) -> Vec<Surprise> {
    if !cell.expected.is_empty() || !cell.surprises.is_empty() {
        return cell.surprises.clone();
    }
    let unmet = cell.verdicts.iter().filter_map(|(property, verdict)| {
        let got = match (verdict.status, verdict.cause) {
            (Status::Violated, Some(cause)) => format!("violated: {cause}"),
            (Status::Violated, None) => "violated".to_owned(),
            (Status::Unknown, _) => "unknown".to_owned(),
            (Status::Held | Status::NotApplicable, _) => return None,
        };
        Some(Surprise {
            property: *property,
            expected: "held".to_owned(),
            got,
            runs: 1,
        })
    });
    unmet.collect()
}

/// True if the property could not be decided, although something was expected of it.
pub fn is_undecided(failure: &Surprise) -> bool {
    failure.got.starts_with(Status::Unknown.word())
}

/// The cell in words: `redlock × gc-pause × sim`.
pub fn title(cell: &Cell) -> String {
    format!(
        "{} × {} × {}",
        cell.subject.name, cell.scenario, cell.backend
    )
}

/// The mark of a property in a cell: `✔`, `✘`, `?`, or `–` where it does not apply.
pub fn mark(cell: &Cell, property: Property) -> char {
    let status = cell.verdicts.get(&property).map(|verdict| verdict.status);
    match status {
        Some(Status::Held) => '✔',
        Some(Status::Violated) => '✘',
        Some(Status::Unknown) => '?',
        Some(Status::NotApplicable) | None => '–',
    }
}

/// The story of this property in the run that is shown. If it has none of its own, that of another
/// violated property: the failure may have happened in another run than the one shown.
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
