//! Reports: pure functions from run records to text.
//!
//! This crate does no I/O, reads no clock, and judges nothing: it reports what the checkers found.
//!
//! - [`terminal`]: a run or a matrix as text for a terminal
//! - [`progress`]: single events during a run
//! - [`listing`]: lists of locks, scenarios and backends
//! - [`verdict_line`]: a verdict in one line; [`responsibility`]: who is responsible
//! - [`matrix`]: the cells of a matrix in words; `costs`: what it cost the servers to acquire
//! - [`scorecard`]: one row for each lock, the best first, and which lock is for what
//! - [`gate`]: whether the results meet the rules and the baseline
//! - [`configuration`]: the tables of the user's `picklock.toml`, and errors that point into it
//! - [`report_input`]: the input of comparisons and report files; [`documents`]: writes and reads it;
//!   [`combine`]: merges several; [`matrix_parts`]: joins the parts of one matrix; [`cell_status`]: failed cells and properties
//! - [`measures`]: figures from a history, beyond verdicts
//! - [`repro`]: the text of the file from which a run can be repeated
//! - [`search`]: how much a search has tried, in sentences; shards joined into one
//! - [`wire_log`]: reads the command log of a run
//! - [`run_log`]: messages, commands, custody and faults of a run as one list
//! - [`formats`]: the table of report formats: [`html`], [`markdown`], [`junit`], [`trace`],
//!   [`document_files`]
//! - [`comparison`]: compares two sets of runs
//! - [`statistics`]: intervals of quantiles, medians and rates
//! - [`file_name`]: safe file names for arbitrary text
//! - [`units`]: times with a suitable unit
//! - [`escape`]: makes untrusted text safe to print

pub mod cell_status;
pub mod combine;
pub mod comparison;
pub mod configuration;
mod costs;
pub mod documents;
pub mod escape;
pub mod file_name;
pub mod formats;
pub mod gate;
pub mod listing;
pub mod matrix;
pub mod matrix_parts;
pub mod measures;
mod node_lanes;
pub mod progress;
pub mod report_input;
pub mod repro;
pub mod responsibility;
pub mod run_log;
pub mod scorecard;
pub mod search;
pub mod statistics;
pub mod terminal;
pub mod units;
pub mod wire_log;
mod worker_lanes;

macro_rules! files_of_formats {
    ($($file:ident,)*) => {
        $(pub mod $file;)*
    };
}
formats::formats!(files_of_formats);
