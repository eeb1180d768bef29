//! Reports: pure functions from run records to text.
//!
//! This crate performs no I/O, reads no clock and judges nothing: it reports the results of the checkers.
//! ARCHITECTURE.md lists the modules and their allowed imports.
//!
//! - input: [`documents`] reads and writes records, [`command_log`] reads commands, and [`report_input`] is what a
//!   report is made from; [`combine`] and [`matrix_parts`] join several inputs
//! - what a result means, in the same words in every report: [`problem`], [`responsibility`], [`remedy`],
//!   [`cell_status`], `cell_mark`, `costs`, [`matrix`], [`scorecard`]
//! - figures and pictures: [`measures`], [`statistics`], [`run_log`], `worker_lanes`, `node_lanes`
//! - the formats, listed in [`formats`]: [`html`], [`markdown`], [`junit`], [`trace`], [`document_files`]
//! - other output: [`terminal`], [`progress`], [`listing`], [`repro`], [`comparison`], [`search`], and [`gate`] with
//!   [`configuration`]
//! - tools of all of them: [`units`], [`escape`], [`inert`], [`file_name`]

mod cell_mark;
pub mod cell_status;
pub mod combine;
pub mod command_log;
pub mod comparison;
pub mod configuration;
mod costs;
pub mod document_files;
pub mod documents;
pub mod escape;
pub mod file_name;
pub mod format;
pub mod formats;
pub mod gate;
pub mod html;
pub mod inert;
pub mod junit;
pub mod listing;
pub mod markdown;
pub mod matrix;
pub mod matrix_parts;
pub mod measures;
mod node_lanes;
pub mod problem;
pub mod progress;
pub mod remedy;
pub mod report_input;
pub mod repro;
pub mod responsibility;
pub mod run_log;
pub mod scorecard;
pub mod search;
pub mod statistics;
pub mod terminal;
pub mod trace;
pub mod units;
mod worker_lanes;
