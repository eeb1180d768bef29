//! What Picklock tells people: pure functions from run records to text.
//!
//! This crate does no I/O, reads no clock, and decides nothing: it says what the checkers found.
//!
//! - [`json`]: the machine's document, written and read back
//! - [`terminal`]: the same for a person in front of a terminal
//! - [`progress`]: single events while the run goes on
//! - [`listing`]: what there is to choose from
//! - [`blame`] and [`meaning`]: verdicts in plain words
//! - [`matrix`]: many runs: their document, their rates, and the page of the docs
//! - [`gate`]: whether what came out is what was to come out
//! - [`material`]: what comparisons and report files are made of
//! - [`units`]: times as people write them
//! - [`escape`]: words of strangers made safe to print

pub mod blame;
pub mod escape;
pub mod gate;
pub mod json;
pub mod listing;
pub mod material;
pub mod matrix;
pub mod meaning;
pub mod progress;
pub mod terminal;
pub mod units;
