//! The story of the violations, in sentences of the checkers.

use std::collections::HashSet;

use picklock_verdicts::check::{Property, Status, Verdict};
use picklock_verdicts::record::RunRecord;

use super::line::{FAINT, Line, STRONG};

/// Returns the full story of the first violated property, and only the new sentences of the others, because
/// one fault often violates several properties with the same story.
pub(super) fn lines(record: &RunRecord, width: usize) -> Vec<Line> {
    let mut printed: HashSet<&str> = HashSet::new();
    let mut same: Vec<&str> = Vec::new();
    let mut lines = Vec::new();
    for (property, verdict) in violated(record) {
        let story = verdict.story.iter().map(String::as_str);
        let fresh: Vec<&str> = story.filter(|sentence| printed.insert(sentence)).collect();
        if fresh.is_empty() {
            if !verdict.story.is_empty() {
                same.push(property.as_str());
            }
            continue;
        }
        let title = if lines.is_empty() {
            format!("What happened ({property})")
        } else {
            format!("and {property}")
        };
        lines.push(Line::new().plain("  ").styled(STRONG, &title));
        for sentence in fresh {
            lines.extend(Line::new().plain("    ").plain(sentence).wrap(width, 6));
        }
    }
    if !same.is_empty() {
        let text = format!("  The same story violates {}.", same.join(" and "));
        lines.extend(Line::new().styled(FAINT, &text).wrap(width, 2));
    }
    lines
}

/// Returns the violated properties in reading order.
pub(super) fn violated(record: &RunRecord) -> impl Iterator<Item = (Property, &Verdict)> {
    let verdicts = record.verdicts.iter();
    verdicts
        .filter(|(_, verdict)| verdict.status == Status::Violated)
        .map(|(property, verdict)| (*property, verdict))
}
