//! The input of all reports: a matrix, and what the kept runs of its cells left.
//!
//! A single run is a matrix with one cell, so each format is written only once.

use picklock_verdicts::history::History;
use picklock_verdicts::record::{Cell, MatrixRecord, RunRecord, SearchRecord};

use crate::command_log::CommandLog;

/// Everything that a report may use.
#[derive(Debug, Clone, Default)]
pub struct ReportInput {
    /// The cells.
    pub matrix: MatrixRecord,
    /// What the cells' shown runs left, identified by [`Evidence::run_dir`].
    pub evidence: Vec<Evidence>,
    /// Searches, whose finds are among the cells if their runs were kept.
    pub searches: Vec<SearchRecord>,
    /// What could not be read, in words: a report mentions what it omits.
    pub skipped: Vec<String>,
}

/// What one kept run left.
#[derive(Debug, Clone)]
pub struct Evidence {
    /// Equal to the `run_dir` of its cell.
    pub run_dir: String,
    /// Its run record.
    pub record: RunRecord,
    /// Its history; `None` if the directory has no readable one.
    pub history: Option<History>,
    /// Its command log; `None` if there is no readable one.
    pub proxy: Option<CommandLog>,
    /// True if a repro file is beside the record, so that `picklock replay` accepts the directory.
    pub has_repro: bool,
}

impl ReportInput {
    /// The kept run that belongs to a cell.
    pub fn of(&self, cell: &Cell) -> Option<&Evidence> {
        let run_dir = cell.run_dir.as_ref()?;
        let mut evidence = self.evidence.iter();
        evidence.find(|evidence| evidence.run_dir == *run_dir)
    }

    /// The directory for `picklock replay` to repeat a cell's shown run, relative to the matrix;
    /// `None` if it has no repro file.
    pub fn replayable(&self, cell: &Cell) -> Option<&str> {
        let evidence = self.of(cell).filter(|evidence| evidence.has_repro);
        evidence.map(|evidence| evidence.run_dir.as_str())
    }
}
