//! `picklock sweep`, `hunt` and `merge`: many small simulated runs of one lock, to find the smallest that breaks it.
//!
//! - [`cli`]: the command lines; [`shard`]: which part of a search this process does
//! - [`lock_under_test`]: from the command line to the lock and to what counts as a find
//! - [`sweep`], [`hunt`]: what is tried
//! - [`on_servers`]: a hunt on servers; [`about_hunt`]: what both kinds of hunts say of how they were asked for
//! - [`searching`]: runs it beside this thread, with progress, and until it is to end
//! - [`saved_counterexamples`]: makes each find's run once more, tells its story, and keeps it
//! - [`report`]: the record of the search, printed and kept
//! - [`merge`]: joins the records of shards

mod about_hunt;
pub mod cli;
pub mod hunt;
mod lock_under_test;
pub mod merge;
mod on_servers;
mod report;
mod saved_counterexamples;
mod searching;
mod shard;
pub mod sweep;
