//! The input of all reports: a matrix, and the saved runs of its cells.
//!
//! A single run is a matrix with one cell, so each format is written only once.

use picklock_verdicts::history::History;
use picklock_verdicts::record::{Cell, MatrixRecord, RunRecord, SearchRecord};

use crate::command_log::CommandLog;

/// The data that a report may use.
#[derive(Debug, Clone, Default)]
pub struct ReportInput {
    /// The cells.
    pub matrix: MatrixRecord,
    /// Evidence of the cells' shown runs, identified by [`Evidence::run_dir`].
    pub evidence: Vec<Evidence>,
    /// Searches. Counterexamples whose runs were saved are among the cells.
    pub searches: Vec<SearchRecord>,
    /// Descriptions of inputs that could not be read. A report lists them.
    pub skipped: Vec<String>,
}

/// The evidence of one saved run.
#[derive(Debug, Clone)]
pub struct Evidence {
    /// Equal to the `run_dir` of its cell.
    pub run_dir: String,
    /// Its run record.
    pub record: RunRecord,
    /// Its history, or `None` if the directory has no readable one.
    pub history: Option<History>,
    /// Its command log, or `None` if there is no readable one.
    pub command_log: Option<CommandLog>,
    /// Whether a repro file is next to the record, so that `picklock replay` accepts the directory.
    pub has_repro: bool,
}

impl ReportInput {
    /// Returns the saved run that belongs to a cell.
    pub fn evidence_for(&self, cell: &Cell) -> Option<&Evidence> {
        let run_dir = cell.run_dir.as_ref()?;
        let mut evidence = self.evidence.iter();
        evidence.find(|evidence| evidence.run_dir == *run_dir)
    }

    /// Returns the directory for `picklock replay` to repeat a cell's shown run, relative to the matrix, or
    /// `None` if it has no repro file.
    pub fn replayable(&self, cell: &Cell) -> Option<&str> {
        let evidence = self
            .evidence_for(cell)
            .filter(|evidence| evidence.has_repro);
        evidence.map(|evidence| evidence.run_dir.as_str())
    }
}
