//! Comparisons: what the product says, beside what somebody else makes of the same data.
//!
//! - [`account`]: the account of the keys, made a second time from what simulated servers tell
//! - [`checkers`]: the checkers, beside reference checkers that are slow and obviously correct
//! - [`history_format`]: any events written to a history file, and read again
//! - [`bug_corpus`]: every class of bugs has a piece or a reason, and searches find a sample of the pieces
//! - [`mutants`]: each mutant is caught by a scenario, and the page that says by which
//! - [`pages`]: the pages about libraries and servers
//! - [`truth_table`]: the page of the truth table is what the simulation gives

#![expect(
    clippy::unwrap_used,
    reason = "these are tests, which clippy only knows where they are marked"
)]

mod bug_corpus;
mod checkers;
mod history_format;
mod key_history;
mod mutants;
mod pages;
mod truth_table;
