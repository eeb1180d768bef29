//! The matrix as a table: scenarios as rows and locks as columns, or transposed.

use picklock_verdicts::record::Cell;

use super::super::line::{Line, STRONG, columns};
use super::cell::block;
use crate::matrix::{distinct, name_of_lock};

const GAP: usize = 2;

/// Returns the table, or `None` if neither orientation fits the width.
pub(super) fn fitting(cells: &[&Cell], width: usize) -> Option<Vec<Line>> {
    let scenario = |cell: &Cell| cell.scenario.clone();
    let lock = name_of_lock(cells.iter().copied());
    grid(cells, width, scenario, &lock).or_else(|| grid(cells, width, &lock, scenario))
}

fn grid(
    cells: &[&Cell],
    width: usize,
    row_of: impl Fn(&Cell) -> String,
    column_of: impl Fn(&Cell) -> String,
) -> Option<Vec<Line>> {
    let keys: Vec<(String, String)> = cells.iter().map(|c| (row_of(c), column_of(c))).collect();
    let rows = distinct(keys.iter().map(|(row, _)| row.as_str()));
    let across = distinct(keys.iter().map(|(_, column)| column.as_str()));
    let blocks_at = |row: &str, column: &str| {
        let here = keys.iter().zip(cells);
        let here = here.filter(|((r, c), _)| r == row && c == column);
        here.flat_map(|(_, cell)| block(cell)).collect()
    };
    let blocks: Vec<Vec<Vec<Line>>> = rows
        .iter()
        .map(|row| across.iter().map(|column| blocks_at(row, column)).collect())
        .collect();
    let first = rows.iter().map(|row| columns(row)).max().unwrap_or(0);
    // The first column of each table column.
    let mut starts = Vec::new();
    let mut at = first + GAP;
    for (index, column) in across.iter().enumerate() {
        let widths = blocks.iter().flat_map(|row| &row[index]).map(Line::width);
        starts.push(at);
        at += widths.max().unwrap_or(0).max(columns(column)) + GAP;
    }
    if at - GAP > width {
        return None;
    }
    let mut head = Line::new();
    for (start, column) in starts.iter().zip(&across) {
        head = head.pad_to(*start).styled(STRONG, column);
    }
    let mut lines = vec![head];
    for (row, blocks) in rows.iter().zip(blocks) {
        let height = blocks.iter().map(Vec::len).max().unwrap_or(0);
        for level in 0..height {
            let mut line = match level {
                0 => Line::new().styled(STRONG, row),
                _ => Line::new(),
            };
            for (start, block) in starts.iter().zip(&blocks) {
                if let Some(part) = block.get(level) {
                    line = line.pad_to(*start).then(part.clone());
                }
            }
            lines.push(line);
        }
    }
    Some(lines)
}
