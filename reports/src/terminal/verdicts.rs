//! The verdicts as a table, and the responsible party.

use picklock_verdicts::check::{Property, Status, Verdict};
use picklock_verdicts::record::RunRecord;

use super::line::{FAINT, Line, STRONG, style};
use crate::cell_status::verdict_line;
use crate::matrix::NOT_APPLICABLE;
use crate::responsibility::responsibility;

/// Minimum width for a separate column of causes.
const MIN_WIDTH_FOR_CAUSES: usize = 93;
const PROPERTY_COLUMN: usize = 2;
const STATUS_COLUMN: usize = 12;
const CAUSE_COLUMN: usize = 30;

/// Returns one row per property: status, cause and meaning.
pub(super) fn table(record: &RunRecord, width: usize) -> Vec<Line> {
    let causes = record.verdicts.values().filter_map(|v| v.cause);
    let widest = causes.map(|cause| cause.as_str().len()).max().unwrap_or(0);
    let meaning_column = match widest {
        0 => CAUSE_COLUMN,
        _ if width < MIN_WIDTH_FOR_CAUSES => CAUSE_COLUMN,
        widest => CAUSE_COLUMN + widest + 2,
    };
    let mut lines = Vec::new();
    for (property, verdict) in &record.verdicts {
        lines.extend(row(*property, verdict, width, meaning_column));
    }
    if let Some(sentence) = responsibility(&record.verdicts) {
        lines.push(Line::new());
        let line = Line::new().plain("  ").styled(STRONG, "Whose fault? ");
        lines.extend(line.plain(&sentence).wrap(width, 2));
    }
    lines
}

fn row(property: Property, verdict: &Verdict, width: usize, meaning_column: usize) -> Vec<Line> {
    let (sign, style) = (verdict.status.sign(), style(verdict.status));
    let word = match verdict.status {
        Status::NotApplicable => NOT_APPLICABLE,
        status => status.as_str(),
    };
    let mut line = Line::new()
        .pad_to(PROPERTY_COLUMN)
        .plain(property.as_str())
        .pad_to(STATUS_COLUMN)
        .styled(style, &format!("{sign} {word}"))
        .pad_to(CAUSE_COLUMN);
    if let Some(cause) = verdict.cause {
        line = line.styled(STRONG, cause.as_str());
        // Without a separate column, the cause is the beginning of the sentence.
        if meaning_column == CAUSE_COLUMN {
            line = line.plain(": ");
        }
    }
    let text = verdict_line(property, verdict);
    let line = line.pad_to(meaning_column);
    let line = match verdict.status {
        Status::Held | Status::NotApplicable => line.styled(FAINT, &text),
        _ => line.plain(&text),
    };
    line.wrap(width, meaning_column)
}

/// Returns the properties on one line, for a run in which all of them held.
pub(super) fn compact(record: &RunRecord, width: usize) -> Vec<Line> {
    let mut line = Line::new().plain(" ");
    // Non-breaking spaces keep a sign and its word on one line.
    for (property, verdict) in &record.verdicts {
        let (sign, style) = (verdict.status.sign(), style(verdict.status));
        line = line.plain(" ").styled(style, sign);
        line = match verdict.status {
            Status::NotApplicable => {
                let words = format!(" {property} {NOT_APPLICABLE}");
                line.styled(FAINT, &words.replace(' ', "\u{a0}"))
            }
            _ => line.plain(&format!("\u{a0}{property}")),
        };
        line = line.plain(" ");
    }
    line.wrap(width, 2)
}
