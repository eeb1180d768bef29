//! The lab: studies of Picklock that never ship with it.
//!
//! The lab may import every crate, and no crate imports it. Most of it is tests: reference checkers and an
//! independent judge, an independent reconstruction of the key history, and comparisons of the Redis model with real
//! servers. The library and its program write the pages about these studies:
//!
//! - [`findings`]: results of matrices for third-party libraries, with the texts of [`library`]
//! - [`servers`]: the same cells on several servers, and where their results differ
//! - [`truth_table`]: the results of each built-in lock in each scenario
//! - [`bug_corpus`]: the known classes of bugs, and the number of schedules a search needs to find each
//! - [`generated_part`]: the generated part of a page
//! - [`counterfactual`]: whether the causes of simulated runs need the faults that they name
//! - [`random_run`]: random locks, scenarios and seeds
//! - [`simulated`]: one simulated run, for comparisons
//! - [`gallery`]: for each cause a run that shows it, with its timeline as a picture
//! - [`site`]: the documentation as a static site
//! - [`fuzz_inputs`]: the fuzzing inputs, as files for libFuzzer

pub mod bug_corpus;
pub mod counterfactual;
pub mod findings;
pub mod fuzz_inputs;
pub mod gallery;
pub mod generated_part;
pub mod library;
pub mod random_run;
pub mod servers;
pub mod simulated;
pub mod site;
pub mod truth_table;
