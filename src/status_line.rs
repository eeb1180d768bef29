//! Shows progress on standard error: a status line on a terminal, plain lines otherwise.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use picklock_reports::inert;
use picklock_reports::inert::Inert;

use crate::print;

/// The status line of a terminal. It shows only inert text.
pub struct Bar(ProgressBar);

impl Bar {
    pub fn show(&self, message: &Inert) {
        self.0.set_message(message.checked().as_str().to_owned());
    }

    /// Advances the bar by this number of steps.
    pub fn advance(&self, steps: u64) {
        self.0.inc(steps);
    }
}

/// The progress display.
pub enum StatusLine {
    Nothing,
    /// In a file or pipe: lines.
    Lines,
    /// On a terminal: a status line, with lines printed above it.
    Bar(Bar),
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
        StatusLine::Bar(Bar(bar))
    }

    /// Prints a line above the status line.
    pub fn print_line(&self, line: &Inert) {
        match self {
            StatusLine::Nothing => {}
            StatusLine::Lines => print::err(&inert!("{}\n", line)),
            StatusLine::Bar(Bar(bar)) => bar.println(line.checked().as_str()),
        }
    }
}

impl Drop for StatusLine {
    fn drop(&mut self) {
        if let StatusLine::Bar(Bar(bar)) = self {
            bar.finish_and_clear();
        }
    }
}
