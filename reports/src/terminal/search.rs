//! The report of a search: its counterexamples and its coverage.

use picklock_verdicts::record::{Counterexample, SearchKind, SearchRecord};

use super::line::{BAD, FAINT, GOOD, Line, STRONG, style_of_party};
use super::run::{MAX_WIDTH, MIN_WIDTH, join};
use crate::inert::Inert;
use crate::responsibility::Party;
use crate::search::{by_story, statement};
use crate::units::count;

/// Formats the report of a search for a terminal of `width` columns (clamped to 36 to 200). The text ends
/// with a newline.
pub fn search(record: &SearchRecord, width: usize) -> Inert {
    let width = width.clamp(MIN_WIDTH, MAX_WIDTH);
    let mut parts = vec![headline(record)];
    for (index, (party, same)) in by_story(&record.counterexamples).iter().enumerate() {
        parts.push(describe_counterexamples(*party, same, index == 0, width));
    }
    let covered = statement(record).into_iter();
    let covered = covered.flat_map(|text| Line::new().plain("  ").plain(&text).wrap(width, 2));
    let mut coverage = vec![Line::new().styled(STRONG, "  Coverage")];
    coverage.extend(covered);
    parts.push(coverage);
    join(parts)
}

fn headline(record: &SearchRecord) -> Vec<Line> {
    let method = match (record.kind, record.depth) {
        (SearchKind::Sweep, Some(depth)) => {
            format!("every placement of up to {}", count(depth as u64, "fault"))
        }
        (SearchKind::Sweep, None) => "every placement".to_owned(),
        (SearchKind::Hunt, _) => "random plans".to_owned(),
    };
    let counterexamples = match record.counterexamples.len() {
        0 => Line::new().styled(GOOD, "no counterexample"),
        number => Line::new().styled(BAD, &count(number as u64, "counterexample")),
    };
    let schedules = count(record.schedules, "schedule");
    let details = format!(" · {method} · {schedules} · {:.1} s · ", record.elapsed_s);
    let line = Line::new()
        .styled(STRONG, &record.lock.name)
        .plain(&details);
    vec![line.then(counterexamples)]
}

/// Formats counterexamples with the same cause and faults, and the story of the first one.
fn describe_counterexamples(
    party: Party,
    same: &[&Counterexample],
    with_story: bool,
    width: usize,
) -> Vec<Line> {
    let Some(first) = same.first() else {
        return Vec::new();
    };
    let properties: Vec<&str> = same.iter().map(|one| one.property.as_str()).collect();
    let title = format!("{}: {}", properties.join(", "), first.cause);
    let schedules = count(first.schedules, "schedule");
    let recurred = first.recurred.map_or(String::new(), |it| {
        format!(", came again in {} of {} runs", it.times, it.runs)
    });
    let often = format!(
        "  in {schedules}, first in number {}{recurred}",
        first.first
    );
    let style = style_of_party(party);
    let head = Line::new().styled(style, "✘ ").styled(STRONG, &title);
    let fault = format!(", {}: {}", party.fault(), first.cause.summary());
    let head = head.styled(style, &fault);
    let mut lines = head.styled(FAINT, &often).wrap(width, 4);
    if first.faults.is_empty() {
        lines.push(Line::new().plain("    without a fault"));
    }
    for fault in &first.faults {
        lines.extend(Line::new().plain("    ").plain(fault).wrap(width, 6));
    }
    for fault in &first.not_needed {
        let line = Line::new().styled(FAINT, "    not needed: ").plain(fault);
        lines.extend(line.wrap(width, 6));
    }
    for sentence in first.story.iter().filter(|_| with_story) {
        let line = Line::new().styled(FAINT, "      ").plain(sentence);
        lines.extend(line.wrap(width, 8));
    }
    if !first.reproduce.is_empty() {
        lines.push(Line::new().styled(FAINT, &format!("    {}", first.reproduce)));
    }
    lines
}
