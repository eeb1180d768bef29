//! Rows of the nodes' keys in a timeline: the author of each value, and the reason for its end.

use std::collections::HashSet;

use anstyle::Style;
use picklock_verdicts::history::KeyName;
use picklock_verdicts::key_history::{Fate, ValueSpan};
use picklock_verdicts::timeline::{OperationKind, Timeline};

use super::detail::Detail;
use super::fault_bands::{Cell, write};
use super::line::{BAD, FAULT, GOOD, WARN};
use super::time_scale::Scale;
use super::time_window::Window;
use crate::node_lanes::{NodeLane, describe_end};

/// Maximum number of rows. The ones most relevant to the violation are drawn.
const MAX_ROWS: usize = 5;
/// Maximum number of rows in a short report.
const MAX_ROWS_IN_ANSWER: usize = 2;

/// A row: its name, and the lane that it draws. In a short report a row represents all lanes that differ only in times
/// too short to matter.
pub(super) struct ValueRow<'a> {
    pub(super) name: String,
    pub(super) lane: &'a NodeLane,
}

/// The glyphs of values with their styles and meanings, in the order of the legend.
pub(super) const LEGEND: [(&str, Style, &str); 3] = [
    ("├ c0 ┤", GOOD, "value of client 0 in the lock's key"),
    ("╳", BAD, "removed by another client"),
    ("◊", FAULT, "lost by the server"),
];

/// Returns the rows of the keys of the window's lock, and the number of omitted lanes. In a short report, lanes with
/// the same values share a row. Values without an expiry on other keys of the lock, such as counters, have no row.
pub(super) fn choose<'a>(
    lanes: &'a [NodeLane],
    timeline: &Timeline<'_>,
    window: &Window,
    detail: Detail,
) -> (Vec<ValueRow<'a>>, usize) {
    let mut groups: Vec<Vec<&NodeLane>> = Vec::new();
    for lane in lanes_of_lock(lanes, timeline, window) {
        let mut known = groups.iter_mut();
        let is_alike = |group: &&mut Vec<&NodeLane>| {
            detail == Detail::Answer && story(group[0], window) == story(lane, window)
        };
        match known.find(is_alike) {
            Some(group) => group.push(lane),
            None => groups.push(vec![lane]),
        }
    }
    let count: usize = groups.iter().map(Vec::len).sum();
    let most = match detail {
        Detail::Answer => MAX_ROWS_IN_ANSWER,
        Detail::Everything => MAX_ROWS,
    };
    if groups.len() > most {
        groups.sort_by_cached_key(|group| (interest(group[0], window), group[0].node));
        groups.truncate(most);
        groups.sort_by(|a, b| (&a[0].key, a[0].node).cmp(&(&b[0].key, b[0].node)));
    }
    let keys: HashSet<&KeyName> = groups.iter().map(|group| &group[0].key).collect();
    let locks = &timeline.history().header.keys;
    let named = |group: &Vec<&'a NodeLane>| {
        let nodes: Vec<String> = group.iter().map(|lane| lane.node.to_string()).collect();
        let own: HashSet<&KeyName> = group.iter().map(|lane| &lane.key).collect();
        let name = match (own.len(), nodes.len()) {
            (1, 1) => format!("node {}", nodes[0]),
            (1, 2 | 3) => format!("nodes {}", nodes.join(", ")),
            (1, all) => format!("{all} nodes"),
            (count, _) if matches!(group[0].key, KeyName::Permit { .. }) => {
                format!("{count} elements")
            }
            (count, _) => format!("{count} keys"),
        };
        let name = match (keys.len(), own.len()) {
            (2.., 1) => format!("{name} {}", ending(group[0].key.text(locks))),
            _ => name,
        };
        ValueRow {
            name,
            lane: group[0],
        }
    };
    let omitted = count - groups.iter().map(Vec::len).sum::<usize>();
    (groups.iter().map(named).collect(), omitted)
}

/// A value shorter than this part of the window does not distinguish lanes.
const SHORT: u64 = 40;

/// Returns the author and the end of each longer value of a lane in the window.
fn story(lane: &NodeLane, window: &Window) -> Vec<(Option<usize>, Fate)> {
    let least_ns = (window.to_ns - window.from_ns) / SHORT;
    let values = lane.values.iter().filter(|span| inside(span, window));
    let long = values.filter(|span| span.until_ns.saturating_sub(span.from_ns) >= least_ns);
    long.map(|span| {
        (
            span.author.as_ref().map(|author| author.worker),
            span.fate(),
        )
    })
    .collect()
}

/// Returns the lanes of keys that may hold the window's lock within the window.
fn lanes_of_lock<'a>(
    lanes: &'a [NodeLane],
    timeline: &Timeline<'_>,
    window: &Window,
) -> Vec<&'a NodeLane> {
    let attempts: HashSet<(usize, u64)> = (timeline.operations().iter())
        .filter(|one| one.kind == OperationKind::Acquire && one.lock == window.lock)
        .map(|one| (one.worker, one.op))
        .collect();
    let belongs_to_lock = |lane: &NodeLane, span: &ValueSpan| {
        let author = span.author.as_ref();
        lane.key == KeyName::Lock(window.lock)
            || author.is_some_and(|author| attempts.contains(&(author.worker, author.op)))
    };
    let wanted = lanes.iter().filter(|lane| {
        let mut values = lane.values.iter();
        values.any(|span| {
            span.may_be_lock_value() && inside(span, window) && belongs_to_lock(lane, span)
        })
    });
    wanted.collect()
}

fn inside(span: &ValueSpan, window: &Window) -> bool {
    span.from_ns <= window.to_ns && span.until_ns >= window.from_ns
}

/// Returns the relevance of a lane to the violation, 0 for the most relevant: a value was taken or lost, then
/// the key had several writers, then neither.
fn interest(lane: &NodeLane, window: &Window) -> u8 {
    let values = || lane.values.iter().filter(|span| inside(span, window));
    let writers: HashSet<_> = values()
        .map(|span| span.author.as_ref().map(|author| author.worker))
        .collect();
    if values().any(|span| matches!(span.fate(), Fate::Taken | Fate::Lost)) {
        0
    } else if writers.len() > 1 {
        1
    } else {
        2
    }
}

/// Returns the end of a key's name, which is where names differ.
fn ending(key: &str) -> String {
    const MAX_LENGTH: usize = 12;
    let printable: Vec<char> = key.chars().filter(char::is_ascii_graphic).collect();
    match printable.len().checked_sub(MAX_LENGTH) {
        None | Some(0) => printable.into_iter().collect(),
        Some(cut) => format!("…{}", printable[cut..].iter().collect::<String>()),
    }
}

/// Returns the cells of a lane: `├ c0 ─── ran out ┤` for each value, with as much of its text as fits. A
/// value of one column is `│`, and `┼` is where one value ends and the next one begins.
pub(super) fn cells(lane: &NodeLane, scale: &Scale) -> Vec<Cell> {
    let mut row = vec![(' ', Style::new()); scale.cells];
    let place = |span: &ValueSpan| scale.touched(span.from_ns, span.until_ns);
    for span in &lane.values {
        if let Some((first, last)) = place(span) {
            draw(&mut row[first..=last], span, scale);
        }
    }
    // Always show an abnormal end, even if the next value begins in the same cell.
    for span in &lane.values {
        if let (Some((_, last)), Some(cap)) = (place(span), cap(span, scale))
            && cap != ENDED
        {
            row[last] = cap;
        }
    }
    row
}

const ENDED: Cell = ('┤', GOOD);

/// Returns the mark at the end of a value, or `None` if it does not end in the window.
fn cap(span: &ValueSpan, scale: &Scale) -> Option<Cell> {
    scale.cell(span.until_ns)?;
    match span.fate() {
        Fate::Stays => None,
        Fate::Ended => Some(ENDED),
        Fate::Taken => Some(('╳', BAD)),
        Fate::Lost => Some(('◊', FAULT)),
    }
}

/// Draws one value in its cells, of which there is at least one.
fn draw(cells: &mut [Cell], span: &ValueSpan, scale: &Scale) {
    let last = cells.len() - 1;
    let (begins, cap) = (scale.cell(span.from_ns).is_some(), cap(span, scale));
    let after_another = cells[0] == ENDED;
    cells.fill(('─', GOOD));
    cells[last] = cap.unwrap_or(cells[last]);
    if begins {
        let glyph = match (after_another, last == 0 && cap.is_some()) {
            (_, true) => '│',
            (true, false) => '┼',
            (false, false) => '├',
        };
        cells[0] = (glyph, GOOD);
    }
    let author = author_name(span);
    let length = author.chars().count();
    let mut endings = describe_ending(span).into_iter();
    let fitting = endings.find(|words| length + words.chars().count() + 6 <= last);
    if let (Some((_, style)), Some(words)) = (cap, fitting) {
        let at = last - 2 - words.chars().count();
        write(cells, at, &format!(" {words} "), style);
    }
    if length + 2 < last {
        write(cells, 1, &format!(" {author} "), WARN);
    }
}

/// Returns the author of a value, such as `c0`, or `?` if the write was not observed.
fn author_name(span: &ValueSpan) -> String {
    let author = span.author.as_ref();
    author.map_or("?".to_owned(), |author| format!("c{}", author.worker))
}

/// Describes how and by whose command a value ended, longest text first.
fn describe_ending(span: &ValueSpan) -> Vec<String> {
    let ended = describe_end(&span.end);
    match span.end.by().map(|by| format!("by c{}", by.worker)) {
        Some(by) => vec![format!("{ended} {by}"), by],
        None => vec![ended.to_owned()],
    }
}
