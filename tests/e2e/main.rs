//! The binary, from the command line to the exit code, with real Redis servers and real
//! containers. What a test needs and does not find is a failure that says how to get it: nothing
//! is skipped.
//!
//! - [`running`]: how the tests start the binary, few at a time, and what they get back
//! - [`verdicts`]: the scenarios of the catalog come out as their files say
//! - [`sentinels`]: failovers that real Sentinels decide
//! - [`adapters`]: locks of other languages, well and ill behaved
//! - [`input`]: what is wrong with a command line, a file or a machine is said, where, and what to do
//! - [`leftovers`]: nothing outlives a run, however it ends
//! - [`stalls`]: a machine that stands still is not the lock's fault
//! - [`machine_contract`]: documents, files and exit codes that other programs rely on
//! - [`matrix`]: many cells, what is expected of them, and what stays
//! - [`gate`]: what comes out, held against what the user wants
//! - [`replay`]: a kept run once more
//! - [`report`]: files from what runs have left
//! - [`manual`]: explanations, completions, manual pages
//! - [`commands`]: what the help says

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "these are tests, which clippy only knows where they are marked, and they say what they measured"
)]

mod adapters;
mod commands;
mod containers;
mod gate;
mod input;
mod leftovers;
mod machine_contract;
mod manual;
mod matrix;
mod proc_table;
mod replay;
mod report;
mod running;
mod sentinels;
mod slots;
mod stalls;
mod verdicts;
