//! A run or a matrix as text for a terminal.
//!
//! Text with ANSI styles; the caller strips them if they are not wanted. From top to bottom:
//! subject and scenario, the verdicts, whose fault it was, the story, a timeline, faults, figures,
//! and the command that repeats the run.

mod bands;
mod command;
mod faults;
mod figures;
mod headline;
mod line;
mod matrix;
mod paint;
mod run;
mod scale;
mod story;
mod timeline;
mod verdicts;
mod window;

pub use matrix::matrix;
pub use run::run;
