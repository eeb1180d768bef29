//! The report of a run.

use picklock_verdicts::check::Status;
use picklock_verdicts::history::History;
use picklock_verdicts::record::RunRecord;

use super::detail::Detail;
use super::line::Line;
use super::{command, faults, figures, headline, story, timeline, verdicts};
use crate::cell_status::overall;
use crate::inert::Inert;

/// Minimum width in columns. A narrower terminal wraps the text itself.
pub(super) const MIN_WIDTH: usize = 36;
/// Maximum width in columns, because longer lines are hard to read.
pub(super) const MAX_WIDTH: usize = 200;

/// Formats the report of a run for a terminal of `width` columns (clamped to 36 to 200). The answer comes last.
///
/// No line is wider, except that a single word of the command that repeats the run is never broken. The text
/// ends with a newline.
pub fn run(record: &RunRecord, history: &History, width: usize, detail: Detail) -> Inert {
    let width = width.clamp(MIN_WIDTH, MAX_WIDTH);
    let status = overall(&record.verdicts);
    let mut head = headline::lines(record, width, detail);
    let mut parts = Vec::new();
    match detail {
        Detail::Everything => {
            parts.extend([std::mem::take(&mut head), verdicts::table(record, width)]);
            parts.push(story::lines(record, width));
            parts.push(timeline::lines(record, history, width, detail));
            parts.push(faults::faults(record, width));
            parts.push(figures::lines(record, width));
        }
        Detail::Answer if status == Status::Violated => {
            parts.push(std::mem::take(&mut head));
            parts.push(timeline::lines(record, history, width, detail));
        }
        Detail::Answer => head.extend(faults::brief(record, width)),
    }
    parts.push(faults::trouble(record, width));
    head.extend(verdicts::answer(record, width));
    head.extend(faults::warnings(record, width));
    if detail == Detail::Answer && status != Status::Violated {
        head.extend(figures::brief(record, width));
    }
    parts.push(head);
    parts.push(command::again(record, width, detail));
    join(parts)
}

/// Joins parts with empty lines between them. Parts without lines are dropped.
pub(super) fn join(parts: Vec<Vec<Line>>) -> Inert {
    let line_break = Inert::literal("\n");
    let mut out = Inert::default();
    for part in parts.into_iter().filter(|part| !part.is_empty()) {
        if !out.is_empty() {
            out.push(&line_break);
        }
        for line in part {
            out.push(&line.render());
            out.push(&line_break);
        }
    }
    out
}
