//! The report of a search: what was found, and how much was tried.

use picklock_verdicts::record::{Find, SearchKind, SearchRecord};

use super::line::Line;
use super::run::{NARROWEST, WIDEST, join};
use super::styles::{BAD, FAINT, GOOD, STRONG};
use crate::search::statement;
use crate::units::count;

/// The report of a search for a terminal of `width` columns (taken as at least 60, at most 200). Ends with a newline.
pub fn search(record: &SearchRecord, width: usize) -> String {
    let width = width.clamp(NARROWEST, WIDEST);
    let mut parts = vec![headline(record)];
    let (first, others) = match record.finds.split_first() {
        Some((first, others)) => (Some(first), others),
        None => (None, &[][..]),
    };
    parts.extend(first.map(|find| lines_of(find, true, width)));
    parts.extend(others.iter().map(|find| lines_of(find, false, width)));
    let covered = statement(record).into_iter();
    let covered = covered.flat_map(|text| Line::new().plain("  ").plain(&text).wrap(width, 2));
    parts.push(
        [Line::new().styled(STRONG, "  How much was tried")]
            .into_iter()
            .chain(covered)
            .collect(),
    );
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
    let finds = match record.finds.len() {
        0 => Line::new().styled(GOOD, "nothing found"),
        found => Line::new().styled(BAD, &count(found as u64, "find")),
    };
    let line = Line::new()
        .styled(STRONG, &record.lock.name)
        .plain(&format!(
            " · {what} · {} · {:.1} s · ",
            count(record.schedules, "schedule"),
            record.elapsed_s
        ));
    vec![line.then(finds)]
}

/// One find, with its story if it is the first.
fn lines_of(find: &Find, with_story: bool, width: usize) -> Vec<Line> {
    let head = Line::new()
        .styled(BAD, "✘ ")
        .styled(STRONG, &format!("{}: {}", find.property, find.cause))
        .styled(
            FAINT,
            &format!(
                "  in {}, first in number {}",
                count(find.schedules, "schedule"),
                find.first
            ),
        );
    let mut lines = head.wrap(width, 4);
    if find.faults.is_empty() {
        lines.push(Line::new().plain("    without a fault"));
    }
    for fault in &find.faults {
        lines.extend(Line::new().plain("    ").plain(fault).wrap(width, 6));
    }
    for sentence in find.story.iter().filter(|_| with_story) {
        lines.extend(
            Line::new()
                .styled(FAINT, "      ")
                .plain(sentence)
                .wrap(width, 8),
        );
    }
    if !find.reproduce.is_empty() {
        lines.push(Line::new().styled(FAINT, &format!("    {}", find.reproduce)));
    }
    lines
}
