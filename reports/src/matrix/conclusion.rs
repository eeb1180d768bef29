//! The outcome of each cell of a matrix, which all reports share, and the conclusion from all cells.

use picklock_verdicts::record::{Cell, MatrixRecord};

use super::severity::Severity;
use crate::units::{count, grouped};

/// The term for a cell whose lock or backend does not offer what the scenario requires.
pub(crate) const NOT_APPLICABLE: &str = "not applicable";

/// The outcome of a cell, compared with its expectations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CellOutcome {
    /// Every verdict is as expected.
    AsExpected,
    /// A verdict is unexpected.
    Unexpected,
    /// A property with an expectation is inconclusive, and no verdict is unexpected.
    Inconclusive,
    /// A run failed, and no other run has an unexpected violation.
    NotRun,
    /// The cell has no expectation, and no property was violated.
    HeldNoExpectation,
    /// The cell has no expectation, and a property was violated.
    ViolatedNoExpectation,
    /// The cell has no expectation, and a property is inconclusive.
    InconclusiveNoExpectation,
    /// The lock or the backend does not offer what the scenario requires.
    NotApplicable,
}

impl CellOutcome {
    /// All outcomes, in the order of reports.
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

    /// Returns the outcome of a cell. A violation takes precedence over a failed run, because another seed
    /// has proven it.
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
            // No property was violated, or the scenario accepts any result.
            CellOutcome::HeldNoExpectation
        }
    }

    /// Returns the severity of the outcome.
    pub fn severity(self) -> Severity {
        match self {
            CellOutcome::Unexpected | CellOutcome::ViolatedNoExpectation => Severity::Failed,
            CellOutcome::NotRun => Severity::NotRun,
            CellOutcome::Inconclusive | CellOutcome::InconclusiveNoExpectation => {
                Severity::Inconclusive
            }
            CellOutcome::AsExpected
            | CellOutcome::HeldNoExpectation
            | CellOutcome::NotApplicable => Severity::AsExpected,
        }
    }

    /// Returns `true` if [`failures`](crate::cell_status::failures) lists results of such a cell.
    pub(crate) fn has_failures(self) -> bool {
        matches!(self.severity(), Severity::Failed | Severity::Inconclusive)
    }

    /// Returns the text that reports print after a number.
    pub fn as_str(self) -> &'static str {
        match self {
            CellOutcome::AsExpected => "as expected",
            CellOutcome::Unexpected => "unexpected",
            CellOutcome::Inconclusive => "inconclusive",
            CellOutcome::NotRun => "failed to run",
            CellOutcome::HeldNoExpectation => "held (nothing expected)",
            CellOutcome::ViolatedNoExpectation => "violated (nothing expected)",
            CellOutcome::InconclusiveNoExpectation => "inconclusive (nothing expected)",
            CellOutcome::NotApplicable => NOT_APPLICABLE,
        }
    }
}

/// Counts the cells of each outcome, without outcomes that no cell has. Omitted cells count as not
/// applicable.
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

/// Formats the counts, such as `8 cells: 6 as expected, 2 unexpected`.
pub fn describe_counts(record: &MatrixRecord) -> String {
    let counts = cell_counts(record).into_iter();
    let parts: Vec<String> = counts
        .map(|(outcome, cells)| format!("{} {}", grouped(cells), outcome.as_str()))
        .collect();
    let total = describe_total(record);
    if parts.is_empty() {
        total
    } else {
        format!("{total}: {}", parts.join(", "))
    }
}

/// Formats the number of cells, such as `8 cells`, including omitted cells.
pub(crate) fn describe_total(record: &MatrixRecord) -> String {
    count(record.cells.len() + record.skipped.len(), "cell")
}

/// The conclusion from all cells of a matrix, with the number of cells of each kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Conclusion {
    /// Whether the user interrupted the matrix.
    pub is_interrupted: bool,
    /// Number of cells with an unexpected result.
    pub unexpected: usize,
    /// Number of cells with a violation and no expectation.
    pub no_expectation: usize,
    /// Number of cells that failed to run.
    pub not_run: usize,
    /// Number of inconclusive cells.
    pub inconclusive: usize,
    /// Whether there are cells, but none of them is applicable.
    pub is_inapplicable: bool,
}

impl Conclusion {
    /// Returns the conclusion from a matrix.
    pub fn from_matrix(record: &MatrixRecord) -> Conclusion {
        Conclusion {
            is_interrupted: record.interrupted,
            ..Conclusion::from_cells(&record.cells)
        }
    }

    /// Returns the conclusion from these cells, which may be only some of those requested.
    pub fn from_cells(cells: &[Cell]) -> Conclusion {
        let mut conclusion = Conclusion {
            is_inapplicable: !cells.is_empty(),
            ..Conclusion::default()
        };
        for outcome in cells.iter().map(CellOutcome::from_cell) {
            match outcome {
                CellOutcome::Unexpected => conclusion.unexpected += 1,
                CellOutcome::ViolatedNoExpectation => conclusion.no_expectation += 1,
                CellOutcome::NotRun => conclusion.not_run += 1,
                CellOutcome::Inconclusive | CellOutcome::InconclusiveNoExpectation => {
                    conclusion.inconclusive += 1
                }
                CellOutcome::AsExpected
                | CellOutcome::HeldNoExpectation
                | CellOutcome::NotApplicable => {}
            }
            conclusion.is_inapplicable &= outcome == CellOutcome::NotApplicable;
        }
        conclusion
    }

    /// Returns the severity of the worst cell. A violation without an expectation counts as in a single run, because
    /// the exit code must show users that their own lock failed.
    pub fn severity(self) -> Severity {
        if self.unexpected + self.no_expectation > 0 {
            Severity::Failed
        } else if self.not_run > 0 {
            Severity::NotRun
        } else if self.inconclusive > 0 {
            Severity::Inconclusive
        } else {
            Severity::AsExpected
        }
    }

    /// Returns the reason for the severity in one sentence without a full stop.
    pub fn describe(self) -> String {
        if self.is_interrupted {
            return "the matrix was interrupted".to_owned();
        }
        let cells = |number: usize| count(number, "cell");
        let are = |number: usize| if number == 1 { "is" } else { "are" };
        match self.severity() {
            Severity::Failed => {
                let mut parts = Vec::new();
                if self.unexpected > 0 {
                    parts.push(format!(
                        "{} {} unexpected",
                        cells(self.unexpected),
                        are(self.unexpected)
                    ));
                }
                if self.no_expectation > 0 {
                    let have = if self.no_expectation == 1 {
                        "has"
                    } else {
                        "have"
                    };
                    let cells = cells(self.no_expectation);
                    parts.push(format!("{cells} without an expectation {have} a violation"));
                }
                parts.join("; ")
            }
            Severity::NotRun => format!("{} failed to run", cells(self.not_run)),
            Severity::Inconclusive => {
                format!(
                    "{} {} inconclusive",
                    cells(self.inconclusive),
                    are(self.inconclusive)
                )
            }
            Severity::AsExpected if self.is_inapplicable => {
                "nothing was tested: no cell is applicable".to_owned()
            }
            Severity::AsExpected => "everything is as expected".to_owned(),
        }
    }
}
