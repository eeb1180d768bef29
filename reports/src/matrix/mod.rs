//! The results of a matrix, and their descriptions.
//!
//! The table for a terminal is [`terminal::matrix`](crate::terminal::matrix).

mod conclusion;
mod inapplicable;
mod outcome;
mod severity;
mod similarity;
mod warnings;

use std::collections::{HashMap, HashSet};

pub use conclusion::{CellOutcome, Conclusion, cell_counts, describe_counts};
pub(crate) use conclusion::{NOT_APPLICABLE, describe_total};
pub use inapplicable::{Inapplicable, inapplicable};
pub use outcome::describe_outcome;
pub(crate) use outcome::{describe_mismatch, rank};
pub use severity::Severity;
pub use similarity::{ReferenceLock, describe_similarity, similarity};
pub use warnings::lock_warnings;

use picklock_verdicts::record::Cell;

/// Returns the lock's name with its options, which make it a different lock.
pub(crate) fn lock_with_options(cell: &Cell) -> String {
    let options = cell.options.iter();
    options.fold(cell.lock.name.clone(), |name, (option, value)| {
        format!("{name},{option}={value}")
    })
}

/// Returns a function that names the lock of each of these cells. The name includes the options if a lock occurs with
/// different options.
pub(crate) fn name_of_lock<'a>(
    cells: impl IntoIterator<Item = &'a Cell>,
) -> impl Fn(&Cell) -> String {
    let mut known = HashMap::new();
    let has_several = cells.into_iter().any(|cell| {
        let first = known.entry(&cell.lock.name).or_insert(&cell.options);
        **first != cell.options
    });
    move |cell: &Cell| {
        if has_several {
            lock_with_options(cell)
        } else {
            cell.lock.name.clone()
        }
    }
}

/// Returns each name once, in the order of first occurrence.
pub(crate) fn distinct<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut known = HashSet::new();
    names.filter(|name| known.insert(*name)).collect()
}
