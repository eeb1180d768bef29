//! What a matrix cannot say. Its document may come from anybody, and what is counted in it is added up.

use super::matrix::{Cell, MatrixRecord, Tally};

/// Nothing in a cell is counted farther: a thousand years of runs.
const MOST: u64 = 1 << 40;

impl MatrixRecord {
    /// The first thing that makes no sense, in words: a cell has more runs than can be, or more verdicts
    /// than runs. `None`: nothing.
    pub fn contradiction(&self) -> Option<String> {
        let about = |cell: &Cell, what: String| {
            let names = [cell.lock.name.as_str(), cell.scenario.as_str()];
            format!("the cell of {} has {what}", names.join(" under "))
        };
        let mut cells = self.cells.iter();
        cells.find_map(|cell| Some(about(cell, of_cell(cell)?)))
    }
}

fn of_cell(cell: &Cell) -> Option<String> {
    let key_history = cell.key_history.unwrap_or_default();
    let counted = [
        cell.runs,
        cell.reruns,
        key_history.runs,
        key_history.confirmed_runs,
        key_history.ends,
        key_history.confirmed,
    ];
    if let Some(count) = counted.into_iter().find(|count| *count > MOST) {
        return Some(format!("a count of {count}; no more than {MOST} is read"));
    }
    let runs = cell.runs;
    for (property, tally) in &cell.tally {
        if verdicts(tally).is_none_or(|verdicts| verdicts > runs) {
            return Some(format!("more verdicts on {property} than its {runs} runs"));
        }
    }
    let mismatch = cell.mismatches.iter().find(|one| one.runs > runs)?;
    Some(format!(
        "{} unexpected results in {runs} runs",
        mismatch.runs
    ))
}

/// How many verdicts are counted; `None`: more than a number holds, or more causes than violations.
fn verdicts(tally: &Tally) -> Option<u64> {
    let causes = sum(tally.causes.values().copied())?;
    let kinds = [
        tally.held,
        tally.violated,
        tally.unknown,
        tally.not_applicable,
    ];
    sum(kinds.into_iter()).filter(|_| causes <= tally.violated)
}

fn sum(mut counts: impl Iterator<Item = u64>) -> Option<u64> {
    counts.try_fold(0_u64, u64::checked_add)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::Cause;

    fn verdicts_of(held: u64, violated: u64, causes: &[u64]) -> Option<u64> {
        let names = [Cause::Race, Cause::NoTtl].into_iter();
        verdicts(&Tally {
            held,
            violated,
            causes: names.zip(causes.iter().copied()).collect(),
            ..Tally::default()
        })
    }

    #[test]
    fn what_is_counted_fits_into_what_it_is_counted_of() {
        assert_eq!(verdicts_of(3, 2, &[1, 1]), Some(5));
        assert_eq!(verdicts_of(3, 2, &[]), Some(5));
        assert_eq!(verdicts_of(3, 2, &[1, 2]), None);
        assert_eq!(verdicts_of(3, 2, &[u64::MAX, 1]), None);
        assert_eq!(verdicts_of(u64::MAX, 1, &[]), None);
    }
}
