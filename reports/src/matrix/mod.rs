//! The results of a matrix: its cells in words.
//!
//! The table for a terminal is [`terminal::matrix`](crate::terminal::matrix).

mod conclusion;
mod inapplicable;
mod outcome;
mod similarity;

use std::collections::HashSet;

pub use conclusion::{CellOutcome, Conclusion, cell_counts, counts_in_words};
pub(crate) use conclusion::{NOT_APPLICABLE, all_in_words};
pub use inapplicable::{Inapplicable, inapplicable};
pub(crate) use outcome::surprise_in_words;
pub use outcome::{Severity, outcome_in_words, severity};
pub use similarity::{Standard, similarity, similarity_in_words};
/// Each name once, in the order in which they come.
pub(crate) fn distinct<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut known = HashSet::new();
    names.filter(|name| known.insert(*name)).collect()
}
