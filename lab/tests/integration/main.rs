//! Comparisons of Picklock's results with independent computations from the same data.
//!
//! - [`key_history`]: the key history, compared with one that is reconstructed from what simulated servers report
//! - [`checkers`]: the checkers, compared with reference checkers that are slow and obviously correct
//! - [`history_format`]: arbitrary events, written to a history file and read back
//! - [`bug_corpus`]: every class of bugs is covered or has a reason why not, and searches find a sample of the bugs
//! - [`mutants`]: each mutant is caught by a scenario, and the page names the scenario
//! - [`pages`]: the pages about libraries and servers
//! - [`truth_table`]: the truth table page matches the simulation

#![expect(
    clippy::unwrap_used,
    reason = "these are tests, which clippy only knows where they are marked"
)]

mod bug_corpus;
mod checkers;
mod counterfactual;
mod history_format;
mod key_history;
mod mutants;
mod pages;
mod truth_table;
