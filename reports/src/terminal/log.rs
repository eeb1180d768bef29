//! The log of a run as a table.

use anstyle::Style;

use super::line::{BAD, COOL, FAINT, FAULT, Line, WARN, columns};
use crate::run_log::{Entry, EntryKind};
use crate::units::time_ns;

/// Formats entries, one per line: time, route and text. A text that is longer than its column continues on
/// the next line. `violations` has the times of violations in order; each gets its own line.
pub fn log(entries: &[Entry], violations: &[(u64, String)], width: usize) -> String {
    let routes = entries.iter().map(|entry| columns(&entry.route));
    let times = entries.iter().map(|entry| columns(&time_ns(entry.at_ns)));
    let (route, times) = (routes.max().unwrap_or(0), times.max().unwrap_or(0));
    let column = times + 2 + route + 2;
    let mut out = String::new();
    let mut push = |lines: Vec<Line>| {
        for line in lines {
            out.push_str(&line.render());
            out.push('\n');
        }
    };
    let inside = |at_ns: u64| {
        let last = entries.last().map_or(0, |entry| entry.at_ns);
        entries.first().is_some_and(|first| first.at_ns <= at_ns) && at_ns <= last
    };
    let line_at = |at_ns, style| {
        let time = format!("{:>times$}  ", time_ns(at_ns));
        Line::new().styled(style, &time)
    };
    let violation = |(at_ns, words): &(u64, String)| {
        let line = line_at(*at_ns, BAD).styled(BAD, words);
        line.wrap(width, column)
    };
    let violations = violations.iter().filter(|(at_ns, _)| inside(*at_ns));
    let mut violations = violations.peekable();
    for entry in entries {
        while let Some(one) = violations.next_if(|(at_ns, _)| *at_ns < entry.at_ns) {
            push(violation(one));
        }
        let style = style(entry.kind);
        let line = line_at(entry.at_ns, FAINT).styled(style, &entry.route);
        let line = line.pad_to(column).styled(style, &entry.text);
        push(line.wrap(width, column));
    }
    violations.for_each(|one| push(violation(one)));
    out
}

fn style(kind: EntryKind) -> Style {
    match kind {
        EntryKind::Message | EntryKind::Command => Style::new(),
        EntryKind::Reply => FAINT,
        EntryKind::KeyHistory => COOL,
        EntryKind::Fault => FAULT,
        EntryKind::Harness => WARN,
    }
}
