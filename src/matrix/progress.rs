//! Progress of a matrix: the reports of its runs, and their display on standard error.

use indicatif::ProgressBar;
use picklock_harness::record::Cell;
use picklock_reports::escape::visible;
use picklock_reports::matrix::describe_outcome;

use super::cell_builder::JudgedRun;
use crate::status_line::StatusLine;

/// A report of a run. The first number is the index of the cell.
pub enum RunReport {
    /// Some runs of the cell have begun.
    Begun(usize),
    /// The run with this seed ended; an error explains why it left no history.
    Ended(usize, u64, Result<Box<JudgedRun>, String>),
}

/// Shows the progress of a matrix.
pub struct MatrixProgress {
    shown: StatusLine,
    cells: usize,
    done: usize,
    mismatches: usize,
    running: String,
}

impl MatrixProgress {
    /// Chooses the display by the kind of standard error. `runs` is the total of all cells and serves to estimate the
    /// remaining time.
    pub fn new(quiet: bool, cells: usize, runs: u64) -> Self {
        let template = "{spinner} {elapsed} {bar:20} {percent} %, {eta} left  {wide_msg}";
        MatrixProgress {
            shown: StatusLine::new(quiet, || ProgressBar::new(runs), template),
            cells,
            done: 0,
            mismatches: 0,
            running: String::new(),
        }
    }

    /// Prints a line above the status line. Control characters in a lock's message are escaped.
    pub fn say(&self, line: &str) {
        self.shown.say(&visible(line));
    }

    pub fn begun(&mut self, title: String) {
        self.running = title;
        self.refresh(0);
    }

    pub fn ran(&mut self) {
        self.refresh(1);
    }

    /// Counts a cell of this many runs that an earlier call finished.
    pub fn recalled(&mut self, runs: u64) {
        self.done += 1;
        self.refresh(runs);
    }

    pub fn finished(&mut self, cell: &Cell) {
        self.done += 1;
        self.mismatches += usize::from(cell.is_unexpected());
        let line = format!(
            "[{}/{}] {} × {} × {}: {}",
            self.done,
            self.cells,
            cell.lock.name,
            cell.scenario,
            cell.backend,
            describe_outcome(cell)
        );
        match &self.shown {
            StatusLine::Bar(_) if cell.is_as_expected() => {}
            _ => self.say(&line),
        }
        self.refresh(0);
    }

    fn refresh(&self, runs: u64) {
        let StatusLine::Bar(bar) = &self.shown else {
            return;
        };
        bar.inc(runs);
        bar.set_message(format!(
            "{}/{} cells · {} unexpected · {}",
            self.done, self.cells, self.mismatches, self.running
        ));
    }
}
