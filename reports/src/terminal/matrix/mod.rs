//! The matrix for a terminal: recommendations, a grid per backend, the causes of violations, and the unexpected
//! results.

mod bugs;
mod cell;
mod grid;
mod rates;
mod summary;

use picklock_verdicts::record::{Cell, MatrixRecord};

use super::line::{Line, STRONG};
use super::run::{MAX_WIDTH, MIN_WIDTH, join};
use crate::inert::Inert;
use crate::matrix::distinct;
use crate::scorecard::Scorecard;

/// Formats the matrix for a terminal of `width` columns (clamped to 36 to 200).
///
/// Locks that do not fit next to each other are in several grids. No line is wider than `width`, except that a single
/// word of a command is never broken. The text ends with a newline.
pub fn matrix(record: &MatrixRecord, width: usize) -> Inert {
    let width = width.clamp(MIN_WIDTH, MAX_WIDTH);
    if record.interrupted && record.cells.is_empty() {
        return join(vec![summary::outcome(record, width)]);
    }
    let mut parts = vec![summary::title(record, width)];
    if let Some(scorecard) = Scorecard::from_matrix(record) {
        parts.push(summary::advice(&scorecard, width));
    }
    let backends = distinct(record.cells.iter().map(|cell| cell.backend.as_str()));
    for backend in &backends {
        let is_here = |cell: &&Cell| cell.backend.as_str() == *backend;
        let cells: Vec<&Cell> = record.cells.iter().filter(is_here).collect();
        let mut lines = Vec::new();
        if backends.len() > 1 {
            lines.push(Line::new().styled(STRONG, backend));
        }
        lines.extend(grid::lines(&cells, width));
        parts.push(lines);
    }
    parts.push(grid::legend(&record.cells, width));
    parts.push(rates::lines(record, width));
    parts.push(bugs::causes(record, width));
    parts.extend(bugs::parts(record, width));
    parts.push(summary::not_applicable(record, width));
    parts.push(summary::key_history(record, width));
    parts.push(summary::reruns(record, width));
    parts.push(summary::similarity(record, width));
    parts.push(summary::warnings(record, width));
    parts.push(summary::outcome(record, width));
    join(parts)
}
