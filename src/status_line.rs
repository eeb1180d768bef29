//! Shows progress on standard error: a status line on a terminal, plain lines otherwise.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use picklock_reports::escape::Inert;

use crate::print;

/// The progress display.
pub enum StatusLine {
    Nothing,
    /// In a file or pipe: lines.
    Lines,
    /// On a terminal: a status line, with lines printed above it.
    Bar(ProgressBar),
}

impl StatusLine {
    /// Chooses the display by the kind of standard error. `bar` creates the status line, to which `template` is
    /// applied.
    pub fn new(quiet: bool, bar: impl FnOnce() -> ProgressBar, template: &str) -> StatusLine {
        if quiet {
            return StatusLine::Nothing;
        }
        if !print::stderr_is_terminal() {
            return StatusLine::Lines;
        }
        let bar = bar();
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(120));
        StatusLine::Bar(bar)
    }

    /// Prints a line above the status line.
    pub fn say(&self, line: &str) {
        match self {
            StatusLine::Nothing => {}
            StatusLine::Lines => print::err(&format!("{line}\n")),
            StatusLine::Bar(bar) => bar.println(Inert::new(line).as_str()),
        }
    }
}

impl Drop for StatusLine {
    fn drop(&mut self) {
        if let StatusLine::Bar(bar) = self {
            bar.finish_and_clear();
        }
    }
}
