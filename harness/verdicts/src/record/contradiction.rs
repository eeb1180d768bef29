//! Checks a matrix document for impossible counts. A document can be untrusted, and its counts are added up.

use super::matrix::{Cell, MatrixRecord, Tally};

/// Maximum value of a count in a cell, far beyond any real number of runs.
const MAX_COUNT: u64 = 1 << 40;

impl MatrixRecord {
    /// Returns a description of the first impossible count, such as more verdicts than runs, or `None` if there is
    /// none.
    pub fn contradiction(&self) -> Option<String> {
        let describe = |cell: &Cell, what: String| {
            let names = [cell.lock.name.as_str(), cell.scenario.as_str()];
            format!("the cell of {} has {what}", names.join(" under "))
        };
        let mut cells = self.cells.iter();
        cells.find_map(|cell| Some(describe(cell, impossible_count(cell)?)))
    }
}

fn impossible_count(cell: &Cell) -> Option<String> {
    let key_history = cell.key_history.unwrap_or_default();
    let counted = [
        cell.runs,
        cell.reruns,
        key_history.runs,
        key_history.confirmed_runs,
        key_history.ends,
        key_history.confirmed,
    ];
    if let Some(count) = counted.into_iter().find(|count| *count > MAX_COUNT) {
        return Some(format!(
            "a count of {count}, more than the maximum of {MAX_COUNT}"
        ));
    }
    let runs = cell.runs;
    for (property, tally) in &cell.tally {
        if verdicts(tally).is_none_or(|verdicts| verdicts > runs) {
            return Some(format!("more verdicts on {property} than its {runs} runs"));
        }
    }
    let mismatch = cell
        .mismatches
        .iter()
        .find(|mismatch| mismatch.runs > runs)?;
    Some(format!(
        "{} unexpected results in {runs} runs",
        mismatch.runs
    ))
}

/// Returns the number of verdicts, or `None` if it overflows or if there are more causes than violations.
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
    fn verdicts_exceeding_their_runs_are_rejected() {
        assert_eq!(verdicts_of(3, 2, &[1, 1]), Some(5));
        assert_eq!(verdicts_of(3, 2, &[]), Some(5));
        assert_eq!(verdicts_of(3, 2, &[1, 2]), None);
        assert_eq!(verdicts_of(3, 2, &[u64::MAX, 1]), None);
        assert_eq!(verdicts_of(u64::MAX, 1, &[]), None);
    }
}
