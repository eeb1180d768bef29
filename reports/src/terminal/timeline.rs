//! A timeline of the violation: one row per client, then one row per node with the values of the lock's key.
//! Each column is a time step.

use std::collections::BTreeMap;

use anstyle::Style;
use picklock_verdicts::history::History;
use picklock_verdicts::record::RunRecord;
use picklock_verdicts::timeline::Timeline;

use super::detail::Detail;
use super::fault_bands::{Cell, bands, write_beside};
use super::line::{BAD, COOL, FAINT, FAULT, GOOD, Line, STRONG, WARN, columns};
use super::story::violated;
use super::time_scale::Scale;
use super::time_window::{Window, around_violation};
use super::{value_rows, verdicts};
use crate::node_lanes::{NO_KEY_HISTORY, node_lanes};
use crate::units::{span_ns, time_ns};
use crate::worker_lanes::{Activity, Lane, MarkKind, lanes, overlaps};

/// Maximum number of rows.
const MAX_ROWS: usize = 12;
/// Maximum number of rows if there are workers that only wait. Beyond it, they are not drawn.
const MAX_ROWS_WITH_WAITING: usize = 6;

/// The glyphs with their styles and meanings, in the order of the legend.
const LEGEND: [(&str, Style, &str); 14] = [
    ("█", GOOD, "holds"),
    ("▓", GOOD, "holds, lease perhaps over"),
    ("▒", WARN, "holds, lease over"),
    ("░", COOL, "frozen, lease running"),
    ("≈", COOL, "frozen, lease perhaps over"),
    ("~", COOL, "frozen, lease over"),
    ("╌", COOL, "frozen without the lock"),
    ("·", FAINT, "waits"),
    ("‹", FAINT, "releases"),
    ("$", STRONG, "sells"),
    ("×", STRONG, "fenced off"),
    ("R", STRONG, "late release claims success"),
    ("c", STRONG, "cancels its request"),
    ("✝", BAD, "dies"),
];

/// Returns the timeline around the first violation. It is empty if nothing was violated.
pub(super) fn lines(
    record: &RunRecord,
    history: &History,
    width: usize,
    detail: Detail,
) -> Vec<Line> {
    if violated(record).next().is_none() || history.events.is_empty() {
        return Vec::new();
    }
    let timeline = Timeline::new(history);
    let (lanes, end_ns) = (lanes(&timeline), timeline.end_ns());
    let window = around_violation(record, &lanes, end_ns);
    let (shown, omitted) = choose(&lanes, &window);
    if shown.is_empty() {
        return Vec::new();
    }
    let names: Vec<String> = shown.iter().map(|(w, _)| format!("client {w}")).collect();
    let node_lanes = node_lanes(history);
    let (values, omitted_values) = value_rows::choose(
        node_lanes.as_deref().unwrap_or(&[]),
        &timeline,
        &window,
        detail,
    );
    let all_names = names.iter().chain(values.iter().map(|row| &row.name));
    let widest = all_names.map(|name| columns(name)).max().unwrap_or(0);
    let margin = 4 + widest.max("overlap".len()) + 2;
    let scale = Scale::new(&window, width.saturating_sub(margin));
    let overlaps = overlaps(&timeline, window.lock);
    let overlapping = overlapping_columns(&overlaps, &scale);
    let mut picture = Picture {
        margin,
        scale,
        lines: vec![title(history, &window, end_ns).cut(width)],
        used: Vec::new(),
    };
    for band in bands(&timeline, &scale) {
        picture.row("faults", FAULT, band);
    }
    for (name, (_, lane)) in names.iter().zip(&shown) {
        let cells = cells(lane, &window, &scale, &overlapping);
        picture.used.extend(cells.iter().map(|(glyph, _)| *glyph));
        picture.row(name, Style::new(), cells);
    }
    if let Some(row) = overlap_row(&overlaps, &window, &scale) {
        picture.row("overlap", BAD, row);
    }
    let legend_of_values = picture.values(&values);
    picture.moments(record);
    let (ruler, labels) = scale.axis();
    picture.indented(ruler);
    picture.indented(labels);
    for (count, what) in [(omitted, "clients"), (omitted_values, "nodes with the key")] {
        if count > 0 {
            picture.note(&format!("and {count} more {what}"), width);
        }
    }
    if node_lanes.is_none() {
        picture.note(NO_KEY_HISTORY, width);
    }
    let legends = [Some(legend(&LEGEND, &picture.used)), legend_of_values];
    let legends = legends.into_iter().flatten();
    let lines = legends.flat_map(|legend| legend.wrap(width, 4));
    picture.lines.extend(lines);
    picture.lines
}

/// Returns the columns in which holds overlap.
fn overlapping_columns(overlaps: &[(u64, u64)], scale: &Scale) -> Vec<bool> {
    let mut overlapping = vec![false; scale.cells];
    for &(from_ns, to_ns) in overlaps {
        if let Some((first, last)) = scale.touched(from_ns, to_ns) {
            overlapping[first..=last].fill(true);
        }
    }
    overlapping
}

struct Picture {
    margin: usize,
    scale: Scale,
    lines: Vec<Line>,
    used: Vec<char>,
}

impl Picture {
    fn row(&mut self, name: &str, style: Style, cells: Vec<Cell>) {
        let mut line = Line::new().plain("    ").styled(style, name);
        line = line.pad_to(self.margin);
        for run in cells.chunk_by(|a, b| a.1 == b.1) {
            let text: String = run.iter().map(|(glyph, _)| *glyph).collect();
            line = line.styled(run[0].1, &text);
        }
        self.lines.push(line.cut(self.margin + self.scale.cells));
    }

    /// Adds the rows of the lock's keys, and returns their legend if there are any.
    fn values(&mut self, values: &[value_rows::ValueRow<'_>]) -> Option<Line> {
        // The legend always has the first entry.
        let mut marks = vec!['├'];
        for row in values {
            let cells = value_rows::cells(row.lane, &self.scale);
            marks.extend(cells.iter().map(|(glyph, _)| *glyph));
            self.row(&row.name, Style::new(), cells);
        }
        (!values.is_empty()).then(|| legend(&value_rows::LEGEND, &marks))
    }

    /// Adds a row with the numbers of the answer's deciding lines at their times.
    fn moments(&mut self, record: &RunRecord) {
        let mut row = vec![(' ', Style::new()); self.scale.cells];
        let parts = verdicts::shown(record);
        for one in parts.iter().flat_map(|(_, lines)| lines) {
            let Some(mut cell) = one.at_ns.and_then(|at_ns| self.scale.cell(at_ns)) else {
                continue;
            };
            // Numbers that belong to the same cell are shown next to each other.
            while row.get(cell).is_some_and(|(glyph, _)| *glyph != ' ') {
                cell += 1;
            }
            let digit = char::from_digit(u32::try_from(one.number).unwrap_or(0), 10);
            if let (Some(place), Some(digit)) = (row.get_mut(cell), digit) {
                *place = (digit, STRONG);
            }
        }
        if row.iter().any(|(glyph, _)| *glyph != ' ') {
            self.row("moments", STRONG, row);
        }
    }

    fn note(&mut self, words: &str, width: usize) {
        let line = Line::new().plain("    ").styled(FAINT, words);
        self.lines.extend(line.wrap(width, 4));
    }

    fn indented(&mut self, line: Line) {
        self.lines.push(Line::new().pad_to(self.margin).then(line));
    }
}

fn title(history: &History, window: &Window, end_ns: u64) -> Line {
    let mut line = Line::new().plain("  ").styled(STRONG, "Timeline");
    let keys = &history.header.keys;
    if let Some(key) = (keys.get(window.lock as usize)).filter(|_| keys.len() > 1) {
        line = line.plain(" of the lock ").plain(key);
    }
    let words = match (window.from_ns, window.to_ns.min(end_ns)) {
        (0, to_ns) if to_ns == end_ns => format!(", the whole run of {}", time_ns(end_ns)),
        (from_ns, to_ns) => format!(
            ", {} – {} of {}",
            time_ns(from_ns),
            time_ns(to_ns),
            time_ns(end_ns)
        ),
    };
    line.styled(FAINT, &words)
}

/// Returns the workers to draw, by number, and the number of omitted workers.
fn choose<'a>(
    lanes: &'a BTreeMap<usize, Lane>,
    window: &Window,
) -> (Vec<(usize, &'a Lane)>, usize) {
    let mut ranked: Vec<(u8, usize, &Lane)> = lanes
        .iter()
        .filter_map(|(worker, lane)| Some((rank(lane, window)?, *worker, lane)))
        .collect();
    let total = ranked.len();
    ranked.sort_by_key(|&(rank, worker, _)| (rank, worker));
    let active = ranked.iter().filter(|(rank, ..)| *rank < WAITS).count();
    ranked.truncate(active.clamp(MAX_ROWS_WITH_WAITING, MAX_ROWS));
    ranked.sort_by_key(|&(_, worker, _)| worker);
    let omitted = total - ranked.len();
    let shown = ranked.into_iter().map(|(_, worker, lane)| (worker, lane));
    (shown.collect(), omitted)
}

/// The rank of workers that only wait.
const WAITS: u8 = 3;

/// Returns the relevance of a worker to the window: 0 for the most relevant, `None` for an irrelevant one.
fn rank(lane: &Lane, window: &Window) -> Option<u8> {
    let inside = |from_ns, to_ns| from_ns <= window.to_ns && to_ns >= window.from_ns;
    let does = |wanted: fn(Activity) -> bool| {
        let mut segments = lane.segments.iter();
        segments.any(|s| s.key == window.lock && wanted(s.activity) && inside(s.from_ns, s.to_ns))
    };
    if does(|activity| activity == Activity::PastLease) {
        Some(0)
    } else if does(Activity::holds) {
        Some(1)
    } else if does(|activity| activity == Activity::Releasing)
        || lane.frozen_ns.iter().any(|f| inside(f.0, f.1))
        || lane.marks.iter().any(|m| inside(m.at_ns, m.at_ns))
    {
        Some(2)
    } else {
        does(|activity| activity == Activity::Waiting).then_some(WAITS)
    }
}

/// Returns the cells of a worker's row. `overlapping` marks the columns in which holds overlap.
fn cells(lane: &Lane, window: &Window, scale: &Scale, overlapping: &[bool]) -> Vec<Cell> {
    // Per cell, the time spent on each activity.
    let mut share_ns = vec![[0_u64; 6]; scale.cells];
    const FROZEN: usize = 5;
    let mut spread = |slot: usize, from_ns, to_ns| {
        if let Some((first, last)) = scale.touched(from_ns, to_ns) {
            for (cell, shares) in share_ns.iter_mut().enumerate().take(last + 1).skip(first) {
                shares[slot] += scale.share_ns(cell, from_ns, to_ns);
            }
        }
    };
    for segment in lane.segments.iter().filter(|s| s.key == window.lock) {
        spread(segment.activity as usize, segment.from_ns, segment.to_ns);
    }
    for &(from_ns, to_ns) in &lane.frozen_ns {
        spread(FROZEN, from_ns, to_ns);
    }
    let mut cells = Vec::with_capacity(scale.cells);
    for (cell, shares) in share_ns.iter().enumerate() {
        let (from_ns, to_ns) = (scale.begin_ns(cell), scale.begin_ns(cell + 1));
        let half_ns = (to_ns - from_ns).div_ceil(2);
        let activity = dominant(shares, half_ns);
        let glyph = glyph(activity, shares[FROZEN] >= half_ns);
        let doubled = activity.is_some_and(Activity::holds) && overlapping[cell];
        cells.push((glyph, if doubled { BAD } else { style_of(glyph) }));
    }
    for mark in &lane.marks {
        if let Some(cell) = scale.cell(mark.at_ns) {
            // Mark only releases that are long enough to see.
            let is_seen = scale.cell(mark.since_ns).is_none_or(|since| since < cell);
            if is_seen || mark.kind != MarkKind::Released {
                put_mark(&mut cells, cell, mark.kind);
            }
        }
    }
    cells
}

fn put_mark(cells: &mut [Cell], cell: usize, kind: MarkKind) {
    let glyph = match kind {
        MarkKind::Sold => '$',
        MarkKind::FencedOff => '×',
        MarkKind::Died => '✝',
        MarkKind::Released => 'R',
        MarkKind::Cancelled => 'c',
    };
    let style = if cells[cell].1 == BAD {
        BAD
    } else {
        style_of(glyph)
    };
    cells[cell] = (glyph, style);
}

/// Returns the activity that a cell shows: any hold, however short, but other activities only if they fill
/// half of the cell.
fn dominant(shares: &[u64; 6], half_ns: u64) -> Option<Activity> {
    let share = |activity: &Activity| shares[*activity as usize];
    let holding = [
        Activity::PastLease,
        Activity::PerhapsPast,
        Activity::InLease,
    ];
    if let Some(longest) = holding.into_iter().max_by_key(share)
        && share(&longest) > 0
    {
        return Some(longest);
    }
    [Activity::Waiting, Activity::Releasing]
        .into_iter()
        .find(|activity| share(activity) >= half_ns)
}

fn glyph(activity: Option<Activity>, frozen: bool) -> char {
    match (activity, frozen) {
        (Some(Activity::InLease), false) => '█',
        (Some(Activity::InLease), true) => '░',
        (Some(Activity::PerhapsPast), false) => '▓',
        (Some(Activity::PerhapsPast), true) => '≈',
        (Some(Activity::PastLease), false) => '▒',
        (Some(Activity::PastLease), true) => '~',
        (_, true) => '╌',
        (Some(Activity::Waiting), false) => '·',
        (Some(Activity::Releasing), false) => '‹',
        (None, false) => ' ',
    }
}

fn style_of(glyph: char) -> Style {
    let entry = LEGEND.iter().find(|(known, ..)| known.starts_with(glyph));
    entry.map_or(Style::new(), |(_, style, _)| *style)
}

/// Returns a row that marks where holds overlap, with their total duration.
fn overlap_row(overlaps: &[(u64, u64)], window: &Window, scale: &Scale) -> Option<Vec<Cell>> {
    let mut row = vec![(' ', Style::new()); scale.cells];
    let mut total_ns = 0;
    let mut marked: Option<(usize, usize)> = None;
    for &(from_ns, to_ns) in overlaps {
        if let Some((first, last)) = scale.touched(from_ns, to_ns) {
            row[first..=last].fill(('^', BAD));
            let inside = (from_ns.max(window.from_ns), to_ns.min(window.to_ns));
            total_ns += inside.1.saturating_sub(inside.0);
            marked = Some((marked.map_or(first, |marked| marked.0), last + 1));
        }
    }
    write_beside(&mut row, marked?, &span_ns(total_ns), BAD);
    Some(row)
}

/// Returns a legend of the marks that are drawn. Non-breaking spaces keep a mark and its meaning on one line.
fn legend(entries: &[(&str, Style, &str)], used: &[char]) -> Line {
    let mut line = Line::new().plain("  ");
    for (mark, style, meaning) in entries {
        if mark.contains(used) {
            let [mark, meaning] = [mark, meaning].map(|words| words.replace(' ', "\u{a0}"));
            line = line.plain("  ").styled(*style, &mark);
            line = line.styled(FAINT, &format!("\u{a0}{meaning}"));
        }
    }
    line
}
