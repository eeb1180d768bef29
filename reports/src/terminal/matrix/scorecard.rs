//! The scorecard: which lock is for what, then a row and a sentence for each lock, the best first.

use picklock_scenarios::Family;

use super::super::line::{FAINT, GOOD, Line, STRONG, columns};
use crate::scorecard::{LockScore, Scorecard};

/// The widest column for names.
const WIDEST_NAME: usize = 24;

/// The widest entry of a column, with the gap after it.
const COLUMN: usize = 9;

/// What to take.
pub(super) fn advice(scorecard: &Scorecard, width: usize) -> Vec<Line> {
    let advice = scorecard.advice.iter();
    let lines = advice.flat_map(|advice| Line::new().plain(&advice.words).wrap(width, 2));
    lines.collect()
}

pub(super) fn locks(scorecard: &Scorecard, width: usize) -> Vec<Line> {
    let names = scorecard.locks.iter().map(|score| columns(&score.lock));
    let first = names.max().unwrap_or(0).min(WIDEST_NAME) + 2;
    let text = "Scorecard: scenarios survived of those judged, the best lock first";
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
    // A name that is too long pushes the figures to a line of their own.
    let mut lines = Vec::new();
    if columns(&score.lock) + 2 > first {
        lines.extend(row.wrap(width, 2));
        row = Line::new();
    }
    row = row.pad_to(first).plain(&score.all.describe());
    for (index, family) in Family::ALL.iter().enumerate() {
        let column = first + COLUMN * (index + 1);
        row = match score.families.get(family.as_str()) {
            Some(of) if of.survived == of.judged => row.pad_to(column).styled(GOOD, &of.describe()),
            Some(of) => row.pad_to(column).plain(&of.describe()),
            None => row.pad_to(column).styled(FAINT, "untested"),
        };
    }
    lines.push(row.cut(width));
    let costs = score.costs_in_words();
    let costs = costs.map_or_else(String::new, |costs| format!(" {costs}"));
    let text = format!("  {}", score.sentence());
    lines.extend(Line::new().plain(&text).wrap(width, 2));
    let fencing = score.fencing.words();
    let text = format!("  Needs {}; fencing: {fencing}.{costs}", score.needs());
    lines.extend(Line::new().styled(FAINT, &text).wrap(width, 2));
    lines
}
