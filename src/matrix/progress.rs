//! Progress of a matrix: the reports of its runs, and their display on standard error.

use std::time::Duration;

use indicatif::ProgressBar;
use picklock_harness::clock::Clock;
use picklock_harness::record::Cell;
use picklock_reports::inert;
use picklock_reports::inert::Inert;
use picklock_reports::matrix::describe_outcome;
use picklock_reports::units::span_ms;

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
    clock: Clock,
    /// Number of runs that ended, and of all runs.
    runs: (u64, u64),
    is_estimated: bool,
}

impl MatrixProgress {
    /// Chooses the display by the kind of standard error. `runs` is the total of all cells.
    pub fn new(quiet: bool, cells: usize, runs: u64) -> Self {
        let template = "{spinner} {elapsed} {bar:20} {percent} %  {wide_msg}";
        MatrixProgress {
            shown: StatusLine::new(quiet, || ProgressBar::new(runs), template),
            cells,
            done: 0,
            mismatches: 0,
            running: String::new(),
            clock: Clock::start(),
            runs: (0, runs),
            is_estimated: false,
        }
    }

    /// Prints a line above the status line.
    pub fn print_line(&self, line: &Inert) {
        self.shown.print_line(line);
    }

    pub fn begun(&mut self, title: String) {
        self.running = title;
        self.refresh(0);
    }

    pub fn run_ended(&mut self) {
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
        let line = inert!(
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
            _ => self.print_line(&line),
        }
        self.refresh(0);
    }

    fn refresh(&mut self, runs: u64) {
        self.runs.0 += runs;
        let (ended, all) = self.runs;
        let left = time_left(self.clock.elapsed(), ended, all);
        let left = left.map(|left| {
            let seconds = left.as_secs().max(1) * 1_000;
            format!("about {} left", span_ms(seconds))
        });
        let StatusLine::Bar(bar) = &self.shown else {
            // A printed line cannot be replaced, so the estimate is printed only once.
            if let Some(left) = left.filter(|_| !self.is_estimated) {
                self.is_estimated = true;
                self.print_line(&inert!("{} of {} runs ended, {}", ended, all, left));
            }
            return;
        };
        bar.advance(runs);
        let left = left.unwrap_or_else(|| "measuring the time".to_owned());
        bar.show(&inert!(
            "{} · {}/{} cells · {} unexpected · {}",
            left,
            self.done,
            self.cells,
            self.mismatches,
            self.running
        ));
    }
}

/// A remaining time is shown when one run in this many has ended.
const MEASURED_PART: u64 = 20;

/// Returns the remaining time, or `None` as long as too little was measured. The remaining runs are assumed to take as
/// long as the finished ones did on average.
fn time_left(elapsed: Duration, done: u64, total: u64) -> Option<Duration> {
    let left = total.checked_sub(done).filter(|left| *left > 0)?;
    let is_measured = done > 0 && done.saturating_mul(MEASURED_PART) >= total;
    is_measured.then(|| elapsed.mul_f64(left as f64 / done as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_left_follows_from_the_finished_runs() {
        let elapsed = Duration::from_secs(30);
        assert_eq!(time_left(elapsed, 0, 10), None);
        assert_eq!(time_left(elapsed, 1, 100), None);
        assert_eq!(time_left(elapsed, 5, 15), Some(Duration::from_secs(60)));
        assert_eq!(time_left(elapsed, 15, 15), None);
    }
}
