//! Results that are not as expected, the worst first: the story of each, and the command that
//! repeats it.

use picklock_verdicts::record::{Cell, MatrixRecord};

use super::super::command::see_it_again;
use super::super::line::{BAD, FAINT, Line, STRONG, WARN};
use crate::cell_status::title;
use crate::matrix::severity;

/// Further ones are only counted.
const SHOWN: usize = 20;

/// Sentences of a story that are shown; the repeated run shows all of them.
const SENTENCES: usize = 5;

/// One part for each.
pub(super) fn parts(record: &MatrixRecord, width: usize) -> Vec<Vec<Line>> {
    let otherwise = record.cells.iter().filter(|cell| !cell.is_as_expected());
    let mut cells: Vec<&Cell> = otherwise.collect();
    cells.sort_by_key(|cell| severity(cell));
    let mut parts: Vec<Vec<Line>> = cells.iter().take(SHOWN).map(|c| part(c, width)).collect();
    if cells.len() > SHOWN {
        let text = format!("and {} more (--json has them all)", cells.len() - SHOWN);
        parts.push(vec![Line::new().styled(FAINT, &text)]);
    }
    parts
}

fn part(cell: &Cell, width: usize) -> Vec<Line> {
    let (sign, style) = super::cell::sign(cell);
    let head = Line::new().styled(style, sign).plain(" ");
    let mut lines = head.styled(STRONG, &title(cell)).wrap(width, 2);
    if let Some(error) = &cell.error {
        lines.extend(Line::new().plain("  could not be run").wrap(width, 4));
        for line in error.lines().take(SENTENCES) {
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
    lines.extend(see_it_again(&cell.reproduce, width));
    lines
}

/// The beginning of the first story among the unexpected results.
fn story(cell: &Cell) -> impl Iterator<Item = &str> {
    let verdicts = cell.mismatches.iter();
    let told = verdicts
        .filter_map(|mismatch| cell.verdicts.get(&mismatch.property))
        .find(|verdict| !verdict.story.is_empty());
    told.into_iter()
        .flat_map(|verdict| verdict.story.iter().take(SENTENCES))
        .map(String::as_str)
}
