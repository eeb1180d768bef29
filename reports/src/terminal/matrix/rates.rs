//! Violation rates of cells with many runs.

use picklock_verdicts::record::MatrixRecord;

use super::super::line::{FAINT, Line, STRONG};
use crate::cell_status::title;
use crate::statistics::{CONFIDENCE_PERCENT, Rate, Round, per_cent};
use crate::units::count;

pub(super) fn lines(record: &MatrixRecord, width: usize) -> Vec<Line> {
    if record.seeds < 2 {
        return Vec::new();
    }
    let heading = format!("Rates, with bounds of {CONFIDENCE_PERCENT} % confidence");
    let mut lines = vec![Line::new().styled(STRONG, &heading)];
    let mut clean = Vec::new();
    for cell in record.cells.iter().filter(|cell| cell.error.is_none()) {
        for (property, tally) in &cell.tally {
            let judged = tally.held + tally.violated;
            let Some(rate) = Rate::new(tally.violated, judged) else {
                continue;
            };
            if tally.violated == 0 && tally.unknown == 0 {
                clean.push(judged);
                continue;
            }
            let causes = tally.causes.iter();
            let causes = causes.map(|(cause, times)| match tally.causes.len() {
                1 => cause.to_string(),
                _ => format!("{cause} {times}"),
            });
            let causes: Vec<String> = causes.collect();
            let (title, rate) = (title(cell), rate.describe());
            let mut text = format!("  {title}: {property} violated in {rate}");
            if !causes.is_empty() {
                text.push_str(&format!(": {}", causes.join(", ")));
            }
            if tally.unknown > 0 {
                text.push_str(&format!("; {} inconclusive", tally.unknown));
            }
            lines.extend(Line::new().plain(&text).wrap(width, 4));
        }
    }
    let fewest = clean.iter().min().copied();
    if let Some((runs, rate)) = fewest.and_then(|runs| Some((runs, Rate::new(0, runs)?))) {
        let (verdicts, runs) = (count(clean.len(), "verdict"), count(runs, "run"));
        let bound = per_cent(rate.bounds().1, Round::Up);
        let text = format!(
            "  {verdicts} held in all {runs} ({runs} cannot rule out a rate below {bound} %)"
        );
        lines.extend(Line::new().styled(FAINT, &text).wrap(width, 4));
    }
    lines
}
