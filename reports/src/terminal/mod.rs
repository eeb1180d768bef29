//! A run, a matrix or a search as text for a terminal.
//!
//! The text contains ANSI styles, which the caller strips if they are not wanted. From top to bottom: lock
//! and scenario, what explains the answer (a timeline), and the answer: what happened, whose fault it was, the remedy,
//! the deciding lines, and the command that repeats the run.

mod command;
mod fault_bands;
mod faults;
mod figures;
mod headline;
mod line;
mod log;
mod matrix;
mod run;
mod search;
mod story;
mod time_scale;
mod time_window;
mod timeline;
mod value_rows;
mod verdicts;

pub use log::log;
pub use matrix::matrix;
pub use run::{Detail, run};
pub use search::search;
