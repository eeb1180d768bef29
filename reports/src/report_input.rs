//! What every report is made from: a matrix, and the evidence of the cells that kept some.
//!
//! A single run is a matrix of one cell, so that each format is written once.

use picklock_verdicts::history::History;
use picklock_verdicts::record::{Cell, MatrixRecord, RunRecord};

use crate::wire_log::WireLog;

/// Everything that a report may be about.
#[derive(Debug, Clone)]
pub struct ReportInput {
    /// The cells.
    pub matrix: MatrixRecord,
    /// What the cells' shown runs left, found by [`Evidence::run_dir`].
    pub evidence: Vec<Evidence>,
    /// What could not be read, in words: a report says what it leaves out.
    pub skipped: Vec<String>,
}

/// What one kept run left.
#[derive(Debug, Clone)]
pub struct Evidence {
    /// The same text as the `run_dir` of the cell that it belongs to.
    pub run_dir: String,
    /// Its run record.
    pub record: RunRecord,
    /// Its history; `None` where the directory has none that can be read.
    pub history: Option<History>,
    /// Its command log; `None` where there is none that can be read.
    pub wire: Option<WireLog>,
    /// A repro file stands beside the record: `picklock replay` takes the directory.
    pub has_repro: bool,
}

impl ReportInput {
    /// What the shown run of a cell left.
    pub fn of(&self, cell: &Cell) -> Option<&Evidence> {
        let run_dir = cell.run_dir.as_ref()?;
        let mut evidence = self.evidence.iter();
        evidence.find(|evidence| evidence.run_dir == *run_dir)
    }

    /// The directory that `picklock replay` takes to run a cell's shown run again, seen from where
    /// the cells are kept; `None`: there is no repro file.
    pub fn replayable(&self, cell: &Cell) -> Option<&str> {
        let evidence = self.of(cell).filter(|evidence| evidence.has_repro);
        evidence.map(|evidence| evidence.run_dir.as_str())
    }
}
