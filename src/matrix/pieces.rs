//! The runs of all cells, in order, made as they are needed: a user may ask for more of them than any
//! list could hold.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use super::selection::Task;

/// Number of the cell, the cell, and some of its runs, counted from the cell's first seed.
pub type Piece = (usize, Arc<Task>, Range<u64>);

/// The runs that have not begun.
#[derive(Debug)]
pub struct Pieces {
    tasks: VecDeque<(usize, Arc<Task>)>,
    /// The cell in progress, with the number of its next run.
    current: Option<(usize, Arc<Task>, u64)>,
    /// Runs of each cell.
    runs: u64,
    /// Most runs in one piece.
    largest: u64,
}

impl Pieces {
    /// All runs of these cells.
    pub fn of(tasks: &[(usize, Arc<Task>)], runs: u64, largest: u64) -> Pieces {
        Pieces {
            tasks: tasks.iter().cloned().collect(),
            current: None,
            runs,
            largest,
        }
    }
}

impl Iterator for Pieces {
    type Item = Piece;

    fn next(&mut self) -> Option<Piece> {
        let (index, task, done) = match self.current.take() {
            Some(current) => current,
            None => {
                let (index, task) = self.tasks.pop_front()?;
                (index, task, 0)
            }
        };
        let end = self.runs.min(done + self.largest);
        if end < self.runs {
            self.current = Some((index, Arc::clone(&task), end));
        }
        Some((index, task, done..end))
    }
}
