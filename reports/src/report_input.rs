//! The input of all reports: a matrix, and what the kept runs of its cells left.
//!
//! A single run is a matrix with one cell, so each format is written only once.

use picklock_verdicts::history::History;
use picklock_verdicts::record::{Cell, MatrixRecord, RunRecord};

use crate::wire_log::WireLog;

/// Everything that a report may use.
#[derive(Debug, Clone, Default)]
pub struct ReportInput {
    /// The cells.
    pub matrix: MatrixRecord,
    /// What the cells' shown runs left, identified by [`Evidence::run_dir`].
    pub evidence: Vec<Evidence>,
    /// What could not be read, in words: a report mentions what it omits.
    pub skipped: Vec<String>,
    /// Which matrices were combined; empty if the matrix is the only one.
    pub sources: Vec<Source>,
}

/// One of the matrices that were combined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The path that it was read from.
    pub name: String,
    /// Number of its cells. They follow those of the sources before it.
    pub cells: usize,
    /// Version of picklock that made it.
    pub picklock: String,
    /// Seed of the first run of every cell.
    pub seed: u64,
    /// How many runs were requested for each cell.
    pub seeds: u64,
    /// True if the user interrupted it: cells are missing.
    pub interrupted: bool,
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
    pub wire: Option<WireLog>,
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

    /// The combined matrices, each with its cells. A single matrix has no name.
    pub fn matrices(&self) -> Vec<(Source, &[Cell])> {
        let whole = &self.matrix;
        if self.sources.is_empty() {
            return vec![(Source::of(String::new(), whole), &whole.cells)];
        }
        let mut rest: &[Cell] = &whole.cells;
        let mut matrices = Vec::new();
        for source in &self.sources {
            let (own, others) = rest.split_at(source.cells.min(rest.len()));
            matrices.push((source.clone(), own));
            rest = others;
        }
        matrices
    }

    /// The directory for `picklock replay` to repeat a cell's shown run, relative to the matrix;
    /// `None` if it has no repro file.
    pub fn replayable(&self, cell: &Cell) -> Option<&str> {
        let evidence = self.of(cell).filter(|evidence| evidence.has_repro);
        evidence.map(|evidence| evidence.run_dir.as_str())
    }
}

impl Source {
    /// This matrix, which was read from there.
    pub fn of(name: String, matrix: &MatrixRecord) -> Source {
        Source {
            name,
            cells: matrix.cells.len(),
            picklock: matrix.picklock.clone(),
            seed: matrix.seed,
            seeds: matrix.seeds,
            interrupted: matrix.interrupted,
        }
    }
}
