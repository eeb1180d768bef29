//! Lists the unexpected results, worst first, each with its story and the command that repeats it.

use picklock_verdicts::record::{Cell, MatrixRecord};

use super::super::command::reproduce;
use super::super::line::{BAD, FAINT, Line, STRONG, WARN};
use crate::cell_status::title;
use crate::matrix::rank;

/// Maximum number of cells to list. The rest is counted.
const MAX_CELLS: usize = 20;

/// Maximum number of sentences of a story. The repeated run shows all of them.
const MAX_SENTENCES: usize = 5;

/// Returns one part per cell.
pub(super) fn parts(record: &MatrixRecord, width: usize) -> Vec<Vec<Line>> {
    let mut cells: Vec<&Cell> = record
        .cells
        .iter()
        .filter(|cell| !cell.is_as_expected())
        .collect();
    cells.sort_by_key(|cell| rank(cell));
    let mut parts: Vec<Vec<Line>> = cells
        .iter()
        .take(MAX_CELLS)
        .map(|c| part(c, width))
        .collect();
    if cells.len() > MAX_CELLS {
        let text = format!("and {} more (--json has them all)", cells.len() - MAX_CELLS);
        parts.push(vec![Line::new().styled(FAINT, &text)]);
    }
    parts
}

fn part(cell: &Cell, width: usize) -> Vec<Line> {
    let (sign, style) = super::cell::sign(cell);
    let head = Line::new().styled(style, sign).plain(" ");
    let mut lines = head.styled(STRONG, &title(cell)).wrap(width, 2);
    if let Some(error) = &cell.error {
        lines.extend(Line::new().plain("  failed to run").wrap(width, 4));
        for line in error.lines().take(MAX_SENTENCES) {
            lines.extend(Line::new().plain("    ").plain(line).wrap(width, 6));
        }
    }
    for mismatch in &cell.mismatches {
        let style = if mismatch.is_judged() { BAD } else { WARN };
        let text = crate::matrix::describe_mismatch(mismatch, cell.runs);
        lines.extend(Line::new().plain("  ").styled(style, &text).wrap(width, 4));
    }
    for sentence in story(cell) {
        lines.extend(Line::new().plain("    ").plain(sentence).wrap(width, 6));
    }
    lines.extend(reproduce(&cell.reproduce, width));
    lines
}

/// Returns the beginning of the first story among the unexpected results.
fn story(cell: &Cell) -> impl Iterator<Item = &str> {
    let verdicts =
        (cell.mismatches.iter()).filter_map(|mismatch| cell.verdicts.get(&mismatch.property));
    let story = verdicts
        .map(|verdict| &verdict.story)
        .find(|story| !story.is_empty());
    story
        .into_iter()
        .flatten()
        .take(MAX_SENTENCES)
        .map(String::as_str)
}
