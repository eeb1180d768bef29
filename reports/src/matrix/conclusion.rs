//! How the cells of a matrix count, in every report alike, and what follows from all of them.

use picklock_verdicts::record::{Cell, MatrixRecord};

use crate::units::count;

/// The one word for what the lock or the backend does not offer.
pub(crate) const NOT_APPLICABLE: &str = "not applicable";

/// What a cell counts as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CellOutcome {
    /// Every verdict is what is expected.
    AsExpected,
    /// A verdict is not what is expected.
    Unexpected,
    /// A property with an expectation could not be judged, and nothing differs.
    Inconclusive,
    /// A run of it could not be made, and the others show no violation that counts.
    NotRun,
    /// Nothing is expected of the lock, and nothing was violated.
    HeldNoExpectation,
    /// Nothing is expected of the lock, and a property was violated.
    ViolatedNoExpectation,
    /// Nothing is expected of the lock, and a property could not be judged.
    InconclusiveNoExpectation,
    /// The scenario asks for something that the lock or the backend does not offer.
    NotApplicable,
}

impl CellOutcome {
    /// All of them, in the order of reports.
    pub const ALL: [CellOutcome; 8] = [
        CellOutcome::AsExpected,
        CellOutcome::Unexpected,
        CellOutcome::Inconclusive,
        CellOutcome::NotRun,
        CellOutcome::HeldNoExpectation,
        CellOutcome::ViolatedNoExpectation,
        CellOutcome::InconclusiveNoExpectation,
        CellOutcome::NotApplicable,
    ];

    /// What this cell counts as. A violation takes precedence over a run that could not be made: another
    /// seed has shown it.
    pub fn from_cell(cell: &Cell) -> CellOutcome {
        let tallies = || cell.tally.values();
        let is_violated = || tallies().any(|tally| tally.violated > 0);
        if cell.is_unexpected() {
            CellOutcome::Unexpected
        } else if cell.expected.is_empty() && is_violated() {
            CellOutcome::ViolatedNoExpectation
        } else if cell.error.is_some() {
            CellOutcome::NotRun
        } else if cell.inapplicable().is_some() {
            CellOutcome::NotApplicable
        } else if !cell.mismatches.is_empty() {
            CellOutcome::Inconclusive
        } else if cell.is_bound() {
            CellOutcome::AsExpected
        } else if cell.expected.is_empty() && tallies().any(|tally| tally.unknown > 0) {
            CellOutcome::InconclusiveNoExpectation
        } else {
            // Nothing was violated, or the scenario says that anything may come out.
            CellOutcome::HeldNoExpectation
        }
    }

    /// In words, after a number.
    pub fn words(self) -> &'static str {
        match self {
            CellOutcome::AsExpected => "as expected",
            CellOutcome::Unexpected => "unexpected",
            CellOutcome::Inconclusive => "could not be judged",
            CellOutcome::NotRun => "could not be run",
            CellOutcome::HeldNoExpectation => "open",
            CellOutcome::ViolatedNoExpectation => "open and violated",
            CellOutcome::InconclusiveNoExpectation => "open and not judged",
            CellOutcome::NotApplicable => NOT_APPLICABLE,
        }
    }
}

/// How many cells count as what, without the outcomes that no cell has. Cells that were left out are not applicable.
pub fn cell_counts(record: &MatrixRecord) -> Vec<(CellOutcome, usize)> {
    let counted = |outcome| {
        let outcomes = record.cells.iter().map(CellOutcome::from_cell);
        let same = outcomes.filter(|it| *it == outcome).count();
        match outcome {
            CellOutcome::NotApplicable => (outcome, same + record.skipped.len()),
            _ => (outcome, same),
        }
    };
    let counts = CellOutcome::ALL.into_iter().map(counted);
    counts.filter(|(_, number)| *number > 0).collect()
}

/// `8 cells: 6 as expected, 2 unexpected`.
pub fn counts_in_words(record: &MatrixRecord) -> String {
    let counts = cell_counts(record).into_iter();
    let parts: Vec<String> = counts
        .map(|(outcome, number)| format!("{number} {}", outcome.words()))
        .collect();
    let all = all_in_words(record);
    match parts.is_empty() {
        true => all,
        false => format!("{all}: {}", parts.join(", ")),
    }
}

/// `8 cells`, those that were left out included.
pub(crate) fn all_in_words(record: &MatrixRecord) -> String {
    count(record.cells.len() + record.skipped.len(), "cell")
}

/// What follows from all cells together: the exit code of `picklock matrix` is a function of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conclusion {
    /// The user stopped it.
    Interrupted,
    /// Results differ from what is expected, or properties of open cells were violated.
    Violated {
        /// Cells of the first kind.
        unexpected: usize,
        /// Cells of the second kind.
        open: usize,
    },
    /// So many cells could not be run, and nothing else went wrong.
    NotRun(usize),
    /// In so many cells something could not be judged, and nothing else went wrong.
    Inconclusive(usize),
    /// There are cells, and each of them is not applicable.
    NothingApplies,
    /// Every cell is as expected; in open ones every property held.
    AsExpected,
}

impl Conclusion {
    /// What follows from this matrix. A violation takes precedence over a cell that could not be run,
    /// and that over one that could not be judged. An open cell counts as a single run does: users who
    /// test their own lock want to know that it failed.
    pub fn from_matrix(record: &MatrixRecord) -> Conclusion {
        match record.interrupted {
            true => Conclusion::Interrupted,
            false => Conclusion::of_cells(&record.cells),
        }
    }

    /// What follows from these cells, which may not be all that were wanted.
    pub fn of_cells(cells: &[Cell]) -> Conclusion {
        let number_of = |wanted: CellOutcome| {
            let outcomes = cells.iter().map(CellOutcome::from_cell);
            outcomes.filter(|it| *it == wanted).count()
        };
        let unexpected = number_of(CellOutcome::Unexpected);
        let open = number_of(CellOutcome::ViolatedNoExpectation);
        let not_run = number_of(CellOutcome::NotRun);
        let not_judged = number_of(CellOutcome::Inconclusive)
            + number_of(CellOutcome::InconclusiveNoExpectation);
        if unexpected + open > 0 {
            Conclusion::Violated { unexpected, open }
        } else if not_run > 0 {
            Conclusion::NotRun(not_run)
        } else if not_judged > 0 {
            Conclusion::Inconclusive(not_judged)
        } else if !cells.is_empty() && number_of(CellOutcome::NotApplicable) == cells.len() {
            Conclusion::NothingApplies
        } else {
            Conclusion::AsExpected
        }
    }

    /// Why, in one sentence without a full stop.
    pub fn why(self) -> String {
        let cells = |number: usize| count(number, "cell");
        match self {
            Conclusion::Interrupted => "it was interrupted".to_owned(),
            Conclusion::Violated { unexpected, open } => {
                let mut parts = Vec::new();
                if unexpected > 0 {
                    let are = if unexpected == 1 { "is" } else { "are" };
                    parts.push(format!("{} {are} not as expected", cells(unexpected)));
                }
                if open > 0 {
                    let have = if open == 1 { "has" } else { "have" };
                    let what = "a violation, and no expectation for it (open)";
                    parts.push(format!("{} {have} {what}", cells(open)));
                }
                parts.join("; ")
            }
            Conclusion::NotRun(number) => format!("{} could not be run", cells(number)),
            Conclusion::Inconclusive(number) => format!("{} could not be judged", cells(number)),
            Conclusion::NothingApplies => "nothing was tested: no cell is applicable".to_owned(),
            Conclusion::AsExpected => "nothing differs from what is expected".to_owned(),
        }
    }
}
