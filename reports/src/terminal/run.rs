//! The report of a run.

use picklock_verdicts::check::Status;
use picklock_verdicts::history::History;
use picklock_verdicts::record::RunRecord;

use super::line::Line;
use super::{command, faults, figures, headline, story, timeline, verdicts};
use crate::cell_status::overall;

/// Minimum width. The text is wrapped by a narrower terminal.
pub(super) const MIN_WIDTH: usize = 36;
/// Maximum width, because longer lines are hard to read.
pub(super) const MAX_WIDTH: usize = 200;

/// Formats the report of a run for a terminal of `width` columns (clamped to 36 to 200).
///
/// No line is wider, except that a single word of the command that repeats the run is never broken. The text
/// ends with a newline.
pub fn run(record: &RunRecord, history: &History, width: usize) -> String {
    let width = width.clamp(MIN_WIDTH, MAX_WIDTH);
    let mut parts = vec![headline::lines(record, width)];
    if is_calm(record) {
        parts.push(verdicts::compact(record, width));
    } else {
        parts.push(verdicts::table(record, width));
        parts.push(story::lines(record, width));
        parts.push(timeline::lines(record, history, width));
        parts.push(faults::faults(record, width));
        parts.push(faults::trouble(record, width));
    }
    parts.push(figures::lines(record, width));
    parts.push(command::reproduce(&record.reproduce, width));
    join(parts)
}

/// Returns true if there is nothing to explain.
fn is_calm(record: &RunRecord) -> bool {
    overall(&record.verdicts) == Status::Held
        && record.trouble.is_empty()
        && record.faults.is_empty()
        && !record.interrupted
}

/// Joins parts with empty lines between them. Parts without lines are dropped.
pub(super) fn join(parts: Vec<Vec<Line>>) -> String {
    let mut out = String::new();
    for part in parts.into_iter().filter(|part| !part.is_empty()) {
        if !out.is_empty() {
            out.push('\n');
        }
        for line in part {
            out.push_str(&line.render());
            out.push('\n');
        }
    }
    out
}
