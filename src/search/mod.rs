//! `picklock sweep`, `hunt` and `merge`: many small simulated runs of one lock, which search for the smallest run that
//! breaks it.
//!
//! - [`cli`]: the command lines; [`shard`]: the part of a search that this process runs
//! - [`lock_under_test`]: from the command line to the lock and to the violations that count
//! - [`sweep`], [`hunt`]: the schedules and plans to try
//! - [`on_servers`]: a hunt on servers; [`attempt`]: one plan of it, repeated; [`plan_run`]: one run of a plan
//! - [`about_hunt`]: how both kinds of hunts were requested
//! - [`searching`]: runs a search in the background, with progress, until it must end
//! - [`saved_counterexamples`]: reruns each counterexample, explains it, and saves it
//! - [`report`]: the record of the search, printed and saved
//! - [`merge`]: joins the records of shards

mod about_hunt;
mod attempt;
pub mod cli;
pub mod hunt;
mod lock_under_test;
pub mod merge;
mod on_servers;
mod plan_run;
mod report;
mod saved_counterexamples;
mod searching;
mod shard;
pub mod sweep;
