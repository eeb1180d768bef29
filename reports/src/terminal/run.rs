//! The report of a run.

use picklock_verdicts::check::Status;
use picklock_verdicts::history::History;
use picklock_verdicts::record::RunRecord;

use super::line::Line;
use super::{command, faults, figures, headline, story, timeline, verdicts};

/// The least width; a narrower terminal wraps by itself.
pub(super) const NARROWEST: usize = 36;
/// The greatest width: longer lines are hard to read.
pub(super) const WIDEST: usize = 200;

/// The report of a run for a terminal of `width` columns (taken as at least 36, at most 200).
///
/// No line is wider than that, except that a single word of the command that repeats the run is
/// never broken. Ends with a newline.
pub fn run(record: &RunRecord, history: &History, width: usize) -> String {
    let width = width.clamp(NARROWEST, WIDEST);
    let mut parts = vec![headline::lines(record, width)];
    if is_calm(record) {
        parts.push(verdicts::compact(record, width));
    } else {
        parts.push(verdicts::table(record, width));
        parts.push(story::lines(record, width));
        parts.push(timeline::lines(record, history, width));
        parts.push(faults::struck(record, width));
        parts.push(faults::trouble(record, width));
    }
    parts.push(figures::lines(record, width));
    parts.push(command::see_it_again(&record.reproduce, width));
    join(parts)
}

/// True if there is nothing to explain.
fn is_calm(record: &RunRecord) -> bool {
    headline::overall(record) == Status::Held
        && record.trouble.is_empty()
        && record.faults.is_empty()
        && !record.interrupted
}

/// Joins parts with empty lines between them; parts without lines are dropped.
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
