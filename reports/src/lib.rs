//! What Picklock tells people: pure functions from run records to text.
//!
//! This crate does no I/O, reads no clock, and decides nothing: it says what the checkers found.
//!
//! - [`json`]: the machine's document, written and read back
//! - [`terminal`]: the same for a person in front of a terminal
//! - [`progress`]: single events while the run goes on
//! - [`listing`]: what there is to choose from
//! - [`verdict_line`]: a verdict in one line; [`responsibility`]: who is responsible
//! - [`matrix`]: many runs: their document and the page of the docs
//! - [`gate`]: whether the results meet the rules and the baseline
//! - [`report_input`]: what comparisons and report files are made of; [`documents`]: how it is read;
//!   [`combine`]: how several become one; [`cell_status`]: which cells and properties failed
//! - [`measures`]: what a history says in numbers, beyond verdicts
//! - [`repro`]: all that it takes to run a run again, as the text of a file
//! - [`wire_log`]: the command log of a run, read again
//! - [`formats`]: the table of report formats: [`html`], [`markdown`], [`junit`], [`hgrm`], [`hlog`],
//!   [`trace`], [`document_files`]
//! - [`comparison`]: two sets of runs side by side
//! - [`statistics`]: intervals of quantiles, medians and rates
//! - [`file_name`]: names of files, made from any names
//! - [`units`]: times as people write them
//! - [`escape`]: words of strangers made safe to print

pub mod cell_status;
pub mod combine;
pub mod comparison;
pub mod distribution;
pub mod documents;
pub mod escape;
pub mod file_name;
pub mod formats;
pub mod gate;
pub mod json;
mod lanes;
pub mod listing;
pub mod matrix;
pub mod measures;
pub mod progress;
pub mod report_input;
pub mod repro;
pub mod responsibility;
pub mod statistics;
pub mod terminal;
pub mod units;
pub mod verdict_line;
pub mod wire_log;

macro_rules! files_of_formats {
    ($($file:ident,)*) => {
        $(pub mod $file;)*
    };
}
formats::formats!(files_of_formats);
