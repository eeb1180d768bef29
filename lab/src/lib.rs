//! The laboratory: what studies the product, and never ships in it.
//!
//! It may import every crate, and none imports it. Most of it is tests: reference checkers and an
//! independent judge beside the checkers, a second account of the keys, the model of Redis beside real
//! servers. The library and its program make the pages about our own studies:
//!
//! - [`findings`]: what matrices say about the libraries of other people, with the words of [`library`]
//! - [`servers`]: the same cells on several servers, and where those differ
//! - [`truth_table`]: what comes out for each built-in lock in each scenario
//! - [`bug_corpus`]: the classes of bugs that a search finds, and in how many schedules
//! - [`generated_part`]: the part of a page that is made anew
//! - [`simulated`]: one simulated run, for whoever compares
//! - [`fuzz_inputs`]: the inputs for fuzzing, as files for libFuzzer

pub mod bug_corpus;
pub mod findings;
pub mod fuzz_inputs;
pub mod generated_part;
pub mod library;
pub mod servers;
pub mod simulated;
pub mod truth_table;
