//! The result of a property, or of a whole cell, in one of the two sets that are compared.

use std::cmp::Reverse;
use std::fmt;

use picklock_verdicts::check::{Cause, Property, Status};
use picklock_verdicts::record::{Cell, RecordedVerdict};
use serde::{Serialize, Serializer};

/// The result of a property over the runs of a cell, or of the cell itself. Documents write it as text:
/// `violated: race in 3 of 20 runs`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The cell was run.
    Ran,
    /// The cell could not be run, for this reason.
    NotRun(String),
    /// The worst verdict on the property, with the most frequent cause.
    Verdict {
        /// The verdict.
        verdict: RecordedVerdict,
        /// The number of runs with this status, if the cell has several runs and the status is not `held`.
        runs: Option<u64>,
        /// The number of runs of the cell.
        all_runs: u64,
    },
}

impl Outcome {
    /// Returns that the cell was run, or the reason why it was not.
    pub(super) fn of_cell(cell: &Cell) -> Outcome {
        match &cell.error {
            Some(reason) => Outcome::NotRun(reason.clone()),
            None => Outcome::Ran,
        }
    }

    /// Returns the worst result of the cell's runs.
    pub(super) fn of_property(cell: &Cell, property: Property) -> Outcome {
        let shown = cell.verdicts.get(&property).map(RecordedVerdict::from);
        let tally = cell.tally.get(&property).cloned().unwrap_or_default();
        let is_shown = |status| shown.is_some_and(|shown| shown.status == status);
        let (verdict, runs) = if tally.violated > 0 || is_shown(Status::Violated) {
            let causes = tally.causes.iter();
            let most = causes.max_by_key(|(cause, times)| (**times, Reverse(**cause)));
            let most_frequent = most.map(|(cause, _)| *cause);
            let verdict = RecordedVerdict {
                status: Status::Violated,
                cause: most_frequent.or(shown.and_then(|shown| shown.cause)),
            };
            (verdict, Some(tally.violated))
        } else if tally.unknown > 0 || is_shown(Status::Unknown) {
            (Status::Unknown.into(), Some(tally.unknown))
        } else {
            let status = shown.map_or(Status::NotApplicable, |shown| shown.status);
            (status.into(), None)
        };
        Outcome::Verdict {
            verdict,
            runs: runs.filter(|_| cell.runs > 1),
            all_runs: cell.runs,
        }
    }

    /// Returns how bad the outcome is: 0 for good, 1 for inconclusive or not run, 2 for violated.
    pub(super) fn rank(&self) -> u8 {
        match self {
            Outcome::Ran => 0,
            Outcome::NotRun(_) => 1,
            Outcome::Verdict { verdict, .. } => match verdict.status {
                Status::Violated => 2,
                Status::Unknown => 1,
                Status::Held | Status::NotApplicable => 0,
            },
        }
    }

    pub(super) fn is_violated(&self) -> bool {
        self.verdict()
            .is_some_and(|(status, _)| status == Status::Violated)
    }

    /// Returns status and cause, or `None` for a whole cell.
    pub(crate) fn verdict(&self) -> Option<(Status, Option<Cause>)> {
        match self {
            Outcome::Verdict { verdict, .. } => Some((verdict.status, verdict.cause)),
            Outcome::Ran | Outcome::NotRun(_) => None,
        }
    }

    /// Returns `true` if both have the same verdict and cause, however many runs had it.
    pub(super) fn has_same_verdict(&self, other: &Outcome) -> bool {
        match (self.verdict(), other.verdict()) {
            (Some(one), Some(other)) => one == other,
            _ => self == other,
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Ran => f.write_str("run"),
            Outcome::NotRun(reason) => write!(f, "not run: {reason}"),
            Outcome::Verdict {
                verdict,
                runs,
                all_runs,
            } => {
                write!(f, "{verdict}")?;
                match runs {
                    Some(runs) => write!(f, " in {runs} of {all_runs} runs"),
                    None => Ok(()),
                }
            }
        }
    }
}

impl Serialize for Outcome {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
