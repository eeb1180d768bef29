//! A run, or a matrix of them, for a person in front of a terminal.
//!
//! Text with ANSI styles; whoever prints it strips them where they are not wanted. From top to
//! bottom: what was run, the verdicts, whose fault it was, the story, a picture of it, what struck,
//! figures, and how to see it again.

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
