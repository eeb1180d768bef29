//! The report of a search: what was found, and how much was tried.

use picklock_verdicts::record::{Counterexample, SearchKind, SearchRecord};

use super::line::{BAD, FAINT, GOOD, Line, STRONG};
use super::run::{NARROWEST, WIDEST, join};
use crate::search::statement;
use crate::units::count;

/// The report of a search for a terminal of `width` columns (taken as at least 60, at most 200). Ends with a newline.
pub fn search(record: &SearchRecord, width: usize) -> String {
    let width = width.clamp(NARROWEST, WIDEST);
    let mut parts = vec![headline(record)];
    let mut counterexamples = record.counterexamples.as_slice();
    while let Some(first) = counterexamples.first() {
        let is_same =
            |other: &&Counterexample| (other.cause, &other.faults) == (first.cause, &first.faults);
        let (same, others) =
            counterexamples.split_at(counterexamples.iter().take_while(is_same).count());
        parts.push(lines_of(
            same,
            counterexamples.len() == record.counterexamples.len(),
            width,
        ));
        counterexamples = others;
    }
    let covered = statement(record).into_iter();
    let covered = covered.flat_map(|text| Line::new().plain("  ").plain(&text).wrap(width, 2));
    let mut tried = vec![Line::new().styled(STRONG, "  How much was tried")];
    tried.extend(covered);
    parts.push(tried);
    join(parts)
}

fn headline(record: &SearchRecord) -> Vec<Line> {
    let what = match (record.kind, record.depth) {
        (SearchKind::Sweep, Some(depth)) => {
            format!("every placement of up to {}", count(depth as u64, "fault"))
        }
        (SearchKind::Sweep, None) => "every placement".to_owned(),
        (SearchKind::Hunt, _) => "random plans".to_owned(),
    };
    let counterexamples = match record.counterexamples.len() {
        0 => Line::new().styled(GOOD, "nothing found"),
        found => Line::new().styled(BAD, &count(found as u64, "find")),
    };
    let schedules = count(record.schedules, "schedule");
    let tried = format!(" · {what} · {schedules} · {:.1} s · ", record.elapsed_s);
    let line = Line::new().styled(STRONG, &record.lock.name).plain(&tried);
    vec![line.then(counterexamples)]
}

/// Finds with the same cause and faults, and the story of the first of them.
fn lines_of(same: &[Counterexample], with_story: bool, width: usize) -> Vec<Line> {
    let Some(find) = same.first() else {
        return Vec::new();
    };
    let properties: Vec<&str> = same.iter().map(|find| find.property.as_str()).collect();
    let what = format!("{}: {}", properties.join(", "), find.cause);
    let schedules = count(find.schedules, "schedule");
    let often = format!("  in {schedules}, first in number {}", find.first);
    let head = Line::new().styled(BAD, "✘ ").styled(STRONG, &what);
    let mut lines = head.styled(FAINT, &often).wrap(width, 4);
    if find.faults.is_empty() {
        lines.push(Line::new().plain("    without a fault"));
    }
    for fault in &find.faults {
        lines.extend(Line::new().plain("    ").plain(fault).wrap(width, 6));
    }
    for sentence in find.story.iter().filter(|_| with_story) {
        let line = Line::new().styled(FAINT, "      ").plain(sentence);
        lines.extend(line.wrap(width, 8));
    }
    if !find.reproduce.is_empty() {
        lines.push(Line::new().styled(FAINT, &format!("    {}", find.reproduce)));
    }
    lines
}
