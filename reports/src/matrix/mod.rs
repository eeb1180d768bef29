//! The results of a matrix: its JSON document, its cells in words, and the truth table of the docs.
//!
//! The table for a terminal is [`terminal::matrix`](crate::terminal::matrix).

mod conclusion;
mod document;
mod outcome;
mod similarity;
mod truth_table;

use std::collections::HashSet;

pub use conclusion::{CellOutcome, Conclusion, cell_counts, counts_in_words};
pub use document::matrix_json;
pub(crate) use outcome::surprise_in_words;
pub use outcome::{Severity, outcome_in_words, severity};
pub use similarity::{Standard, similarity, similarity_in_words};
pub use truth_table::{BEGIN, END, replaced_between, truth_table};

/// Each name once, in the order in which they come.
pub(crate) fn distinct<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut known = HashSet::new();
    names.filter(|name| known.insert(*name)).collect()
}
