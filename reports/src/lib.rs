//! Reports: pure functions from run records to text.
//!
//! This crate does no I/O, reads no clock, and judges nothing: it reports what the checkers found.
//! ARCHITECTURE.md lists the modules, with what each may import.

pub mod cell_status;
pub mod combine;
pub mod command_log;
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
mod worker_lanes;

macro_rules! files_of_formats {
    ($($file:ident,)*) => {
        $(pub mod $file;)*
    };
}
formats::formats!(files_of_formats);
