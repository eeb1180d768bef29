//! The results of a matrix: its cells in words.
//!
//! The table for a terminal is [`terminal::matrix`](crate::terminal::matrix).

mod conclusion;
mod inapplicable;
mod outcome;
mod similarity;

use std::collections::{HashMap, HashSet};

pub use conclusion::{CellOutcome, Conclusion, cell_counts, counts_in_words};
pub(crate) use conclusion::{NOT_APPLICABLE, all_in_words};
pub use inapplicable::{Inapplicable, inapplicable};
pub(crate) use outcome::describe_mismatch;
pub use outcome::{Severity, outcome_in_words, severity};
pub use similarity::{ReferenceLock, similarity, similarity_in_words};

use picklock_verdicts::record::Cell;

/// The lock with its options, which make it another lock.
pub(crate) fn lock_with_options(cell: &Cell) -> String {
    let options = cell.options.iter();
    options.fold(cell.lock.name.clone(), |name, (option, value)| {
        format!("{name},{option}={value}")
    })
}

/// What to call the lock of each of these cells: with its options where one lock has several.
pub(crate) fn name_of_lock<'a>(
    cells: impl IntoIterator<Item = &'a Cell>,
) -> impl Fn(&Cell) -> String {
    let mut known = HashMap::new();
    let has_several = cells.into_iter().any(|cell| {
        let first = known.entry(&cell.lock.name).or_insert(&cell.options);
        **first != cell.options
    });
    move |cell: &Cell| match has_several {
        true => lock_with_options(cell),
        false => cell.lock.name.clone(),
    }
}

/// Each name once, in the order in which they come.
pub(crate) fn distinct<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut known = HashSet::new();
    names.filter(|name| known.insert(*name)).collect()
}
