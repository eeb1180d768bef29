//! A run, a matrix or a search as text for a terminal.
//!
//! The text contains ANSI styles, which the caller strips if they are not wanted. From top to bottom, it shows lock and
//! scenario, a timeline, and the answer: the violation, whose fault it was, the remedy, the deciding lines, and the
//! command that repeats the run.

mod command;
mod detail;
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

use crate::inert;
use crate::inert::Inert;

/// Wraps a line of plain text into lines of at most `width` columns. All but the first are indented.
pub(crate) fn wrapped(text: &Inert, width: usize, indent: usize) -> Inert {
    let width = width.clamp(run::MIN_WIDTH, run::MAX_WIDTH);
    let lines = line::Line::new().plain(text).wrap(width, indent);
    let lines = lines.iter().map(|line| inert!("{}\n", line.render()));
    lines.collect()
}

pub use detail::Detail;
pub use log::log;
pub use matrix::matrix;
pub use run::run;
pub use search::search;
