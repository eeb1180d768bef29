//! The scorecard: recommendations, then a row and a sentence per lock, best lock first.

use picklock_scenarios::Family;

use super::super::line::{FAINT, GOOD, Line, STRONG, columns};
use crate::scorecard::{LockScore, Scorecard};

/// Maximum width of the column for names.
const MAX_NAME_WIDTH: usize = 24;

/// Maximum width of a column's entry, including the gap after it.
const COLUMN: usize = 9;

/// Returns the recommendations.
pub(super) fn advice(scorecard: &Scorecard, width: usize) -> Vec<Line> {
    let advice = scorecard.advice.iter();
    let lines = advice.flat_map(|advice| Line::new().plain(&advice.words).wrap(width, 2));
    lines.collect()
}

pub(super) fn locks(scorecard: &Scorecard, width: usize) -> Vec<Line> {
    let names = scorecard.locks.iter().map(|score| columns(&score.lock));
    let first = names.max().unwrap_or(0).min(MAX_NAME_WIDTH) + 2;
    let text = "Scorecard: scenarios survived of those judged, best lock first";
    let mut lines = vec![Line::new().styled(STRONG, text)];
    let mut head = Line::new().pad_to(first).styled(FAINT, "all");
    for (index, family) in Family::ALL.iter().enumerate() {
        head = head
            .pad_to(first + COLUMN * (index + 1))
            .styled(FAINT, family.as_str());
    }
    lines.push(head);
    for score in &scorecard.locks {
        lines.extend(lock(score, first, width));
    }
    lines
}

fn lock(score: &LockScore, first: usize, width: usize) -> Vec<Line> {
    let mut row = Line::new().styled(STRONG, &score.lock);
    // A name that is too long moves the figures to the next line.
    let mut lines = Vec::new();
    if columns(&score.lock) + 2 > first {
        lines.extend(row.wrap(width, 2));
        row = Line::new();
    }
    row = row.pad_to(first).plain(&score.all.describe());
    for (index, family) in Family::ALL.iter().enumerate() {
        let column = first + COLUMN * (index + 1);
        row = match score.families.get(family.as_str()) {
            Some(it) if it.survived == it.judged => row.pad_to(column).styled(GOOD, &it.describe()),
            Some(it) => row.pad_to(column).plain(&it.describe()),
            None => row.pad_to(column).styled(FAINT, "untested"),
        };
    }
    lines.push(row.cut(width));
    let costs = score.describe_costs();
    let costs = costs.map_or_else(String::new, |costs| format!(" {costs}"));
    let text = format!("  {}", score.sentence());
    lines.extend(Line::new().plain(&text).wrap(width, 2));
    let fencing = score.fencing.as_str();
    let text = format!("  Needs {}; fencing: {fencing}.{costs}", score.needs());
    lines.extend(Line::new().styled(FAINT, &text).wrap(width, 2));
    lines
}
