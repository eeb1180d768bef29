//! The results of a matrix: its JSON document, its cells in words, and the truth table of the docs.
//!
//! The table for a terminal is [`terminal::matrix`](crate::terminal::matrix).

mod conclusion;
mod document;
mod likeness;
mod outcome;
mod truth_table;

pub use conclusion::{CellOutcome, Conclusion, cell_counts, counts_in_words};
pub use document::matrix_json;
pub use likeness::{Standard, likeness, likeness_in_words};
pub(crate) use outcome::surprise_in_words;
pub use outcome::{Badness, badness, outcome_in_words};
pub use truth_table::{BEGIN, END, replaced_between, truth_table};
