//! The log of a run as a table.

use anstyle::Style;

use super::line::{BAD, COOL, FAINT, FAULT, Line, WARN, columns};
use super::run::join;
use crate::inert::Inert;
use crate::run_log::{Entry, EntryKind};
use crate::units::time_ns;

/// Formats entries: time, route and text. A text that is longer than its column continues on the next line. The result
/// is an iterator over entries and violations, so that a long log need not be in memory as a whole. `violations` has
/// the times of violations in order; each gets its own line.
pub fn log<'a>(
    entries: &'a [Entry],
    violations: &'a [(u64, String)],
    width: usize,
) -> impl Iterator<Item = Inert> + 'a {
    let routes = entries.iter().map(|entry| columns(&entry.route));
    let times = entries.iter().map(|entry| columns(&time_ns(entry.at_ns)));
    let (route, times) = (routes.max().unwrap_or(0), times.max().unwrap_or(0));
    let column = times + 2 + route + 2;
    let inside = move |at_ns: u64| {
        let last = entries.last().map_or(0, |entry| entry.at_ns);
        entries.first().is_some_and(|first| first.at_ns <= at_ns) && at_ns <= last
    };
    let line_at = move |at_ns, style| {
        let time = format!("{:>times$}  ", time_ns(at_ns));
        Line::new().styled(style, &time)
    };
    let violations = violations.iter().filter(move |(at_ns, _)| inside(*at_ns));
    let (mut entries, mut violations) = (entries.iter().peekable(), violations.peekable());
    std::iter::from_fn(move || {
        let is_earlier =
            |(at_ns, _): &&(u64, String)| entries.peek().is_none_or(|entry| *at_ns < entry.at_ns);
        if let Some((at_ns, words)) = violations.next_if(is_earlier) {
            return Some(line_at(*at_ns, BAD).styled(BAD, words).wrap(width, column));
        }
        let entry = entries.next()?;
        let style = style(entry.kind);
        let line = line_at(entry.at_ns, FAINT).styled(style, &entry.route);
        let line = line.pad_to(column).styled(style, &entry.text);
        Some(line.wrap(width, column))
    })
    .map(|lines| join(vec![lines]))
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
