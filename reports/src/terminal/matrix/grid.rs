//! The matrix as a grid: scenarios as rows, grouped by family, and locks as columns, with one glyph per cell.

use picklock_scenarios::Family;
use picklock_verdicts::record::Cell;

use super::super::line::{BAD, FAINT, GOOD, Line, STRONG, columns};
use super::cell::{is_green, mark, marks};
use crate::matrix::{distinct, name_of_lock};
use crate::units::count;

/// Gap between columns.
const GAP: usize = 2;

/// Width of a column whose name is on a separate line above it.
const NARROW: usize = 3;

/// Minimum room for the causes behind a row.
const MIN_NOTE_WIDTH: usize = 24;

/// Minimum number of green rows that are folded into one.
const MIN_FOLDED: usize = 2;

/// The columns of one part of the grid.
struct Columns<'a> {
    locks: &'a [&'a str],
    /// Left end of each column.
    starts: Vec<usize>,
    /// The lines with the names.
    head: Vec<Line>,
    /// Left end of the notes.
    end: usize,
}

/// Returns the grid of these cells, in several parts if the locks do not fit next to each other.
pub(super) fn lines(cells: &[&Cell], width: usize) -> Vec<Line> {
    let name_of_lock = name_of_lock(cells.iter().copied());
    let keyed: Vec<(String, &Cell)> = cells
        .iter()
        .map(|cell| (name_of_lock(cell), *cell))
        .collect();
    let locks = distinct(keyed.iter().map(|(lock, _)| lock.as_str()));
    let scenarios = distinct(cells.iter().map(|cell| cell.scenario.as_str()));
    let is_green_row = |scenario: &&str| {
        let mut here = cells.iter().filter(|cell| cell.scenario == *scenario);
        here.all(|cell| is_green(cell))
    };
    let (mut folded, mut rows): (Vec<&str>, Vec<&str>) = scenarios
        .iter()
        .partition(|scenario| is_green_row(scenario));
    if folded.len() < MIN_FOLDED {
        folded.clear();
        rows = scenarios;
    }
    let first = 2 + rows.iter().map(|row| columns(row)).max().unwrap_or(0) + GAP;
    let fitting = (width.saturating_sub(first) / NARROW).max(1);
    let mut lines = Vec::new();
    if !rows.is_empty() {
        for locks in locks.chunks(fitting) {
            let columns = Columns::new(locks, first, width);
            lines.extend(columns.lines(&keyed, &rows, width));
        }
    }
    if !folded.is_empty() {
        let what = format!("✔ {} ", count(folded.len(), "scenario"));
        let line = Line::new().styled(GOOD, &what);
        let words = format!("in which every lock held: {}", folded.join(", "));
        lines.extend(line.styled(FAINT, &words).wrap(width, 2));
    }
    lines
}

impl<'a> Columns<'a> {
    /// Puts the names next to each other if they fit, and otherwise on separate lines.
    fn new(locks: &'a [&'a str], first: usize, width: usize) -> Self {
        let wide: usize = locks.iter().map(|lock| columns(lock) + GAP).sum();
        let mut starts = Vec::new();
        let mut at = first;
        if first + wide <= width + GAP {
            let mut head = Line::new();
            for lock in locks {
                head = head.pad_to(at).styled(STRONG, lock);
                starts.push(at + (columns(lock) - 1) / 2);
                at += columns(lock) + GAP;
            }
            return Columns {
                locks,
                starts,
                head: vec![head],
                end: at,
            };
        }
        let mut head = Vec::new();
        for (index, lock) in locks.iter().enumerate() {
            let bars = "│  ".repeat(index);
            let line = Line::new().pad_to(first).styled(FAINT, &bars);
            head.push(line.styled(STRONG, lock).cut(width));
            starts.push(first + NARROW * index);
        }
        Columns {
            end: first + NARROW * locks.len(),
            locks,
            starts,
            head,
        }
    }

    fn lines(&self, cells: &[(String, &Cell)], rows: &[&str], width: usize) -> Vec<Line> {
        let family = |row: &str| {
            let mut here = cells.iter().filter(|(_, cell)| cell.scenario == row);
            here.find_map(|(_, cell)| cell.setting.map(|setting| setting.family))
        };
        let mut families: Vec<Option<Family>> = rows.iter().map(|row| family(row)).collect();
        families.sort();
        families.dedup();
        let mut lines = self.head.clone();
        for one in &families {
            if let Some(one) = one.filter(|_| families.len() > 1) {
                lines.push(Line::new().styled(FAINT, one.as_str()));
            }
            for row in rows.iter().filter(|row| family(row) == *one) {
                lines.extend(self.row(cells, row, width));
            }
        }
        lines
    }

    /// Returns a row, with the causes of its violations if there is room. An unexpected result has a `!`.
    fn row(&self, cells: &[(String, &Cell)], row: &str, width: usize) -> Vec<Line> {
        let mut line = Line::new().plain("  ").plain(row);
        let mut causes: Vec<String> = Vec::new();
        for (lock, start) in self.locks.iter().zip(&self.starts) {
            line = line.pad_to(*start);
            let here = cells
                .iter()
                .filter(|(name, cell)| name == lock && cell.scenario == row);
            for (_, cell) in here {
                let (glyph, style, _) = mark(cell);
                line = line.styled(style, &glyph.to_string());
                if cell.is_unexpected() {
                    line = line.styled(BAD, "!");
                }
                let known = cell.verdicts.values().filter_map(|verdict| verdict.cause);
                causes.extend(known.map(|cause| cause.to_string()));
            }
        }
        if self.end + MIN_NOTE_WIDTH > width {
            return vec![line.cut(width)];
        }
        let causes = distinct(causes.iter().map(String::as_str)).join(", ");
        vec![line.pad_to(self.end).styled(FAINT, &causes).cut(width)]
    }
}

/// Returns the meanings of the glyphs in the grid.
pub(super) fn legend(cells: &[Cell], width: usize) -> Vec<Line> {
    let used: Vec<char> = cells.iter().map(|cell| mark(cell).0).collect();
    let mut line = Line::new();
    for (glyph, style, meaning) in marks() {
        if used.contains(&glyph) {
            let meaning = meaning.replace(' ', "\u{a0}");
            line = line.plain("  ").styled(style, &glyph.to_string());
            line = line.styled(FAINT, &format!("\u{a0}{meaning}"));
        }
    }
    if cells.iter().any(Cell::is_unexpected) {
        line = line
            .plain("  ")
            .styled(BAD, "!")
            .styled(FAINT, "\u{a0}unexpected");
    }
    line.wrap(width, 2)
}
