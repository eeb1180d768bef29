//! The matrix as a grid: scenarios as rows, grouped by family, and locks as columns, with one glyph per cell.

use std::collections::BTreeSet;

use picklock_scenarios::Family;
use picklock_verdicts::check::Cause;
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

/// Maximum number of rows of a grid that shows each scenario separately. In a larger grid, scenarios of a family that
/// look alike share a row.
const MAX_SEPARATE_ROWS: usize = 24;

/// Maximum number of folded scenarios to name, and the number that is named if there are more.
const MAX_NAMED: usize = 12;
const NAMED_OF_MANY: usize = 8;

/// Scenarios of one family that look alike.
struct Row<'a> {
    family: Option<Family>,
    /// The names of the scenarios, at least one. The first name stands for the row.
    scenarios: Vec<&'a str>,
    /// The lock and the glyph of each cell, whether the result is unexpected, and the causes of the row.
    signature: (Vec<(&'a str, &'static str, bool)>, BTreeSet<Cause>),
}

impl Row<'_> {
    /// Returns the first scenario, with the number of the others.
    fn name(&self) -> String {
        match self.scenarios.len() {
            1 => self.scenarios[0].to_owned(),
            all => format!("{} +{}", self.scenarios[0], all - 1),
        }
    }
}

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
    let rows = grid_rows(&keyed, rows);
    let widest = rows.iter().map(|row| columns(&row.name())).max();
    let first = 2 + widest.unwrap_or(0) + GAP;
    let fitting = (width.saturating_sub(first) / NARROW).max(1);
    let mut lines = Vec::new();
    if !rows.is_empty() {
        for locks in locks.chunks(fitting) {
            let columns = Columns::new(locks, first, width);
            lines.extend(columns.lines(&keyed, &rows, width));
        }
    }
    let shared = rows.iter().filter(|row| row.scenarios.len() > 1);
    let shared: Vec<String> = shared.map(|row| row.scenarios.join(", ")).collect();
    if !shared.is_empty() {
        let words = format!("Rows that are alike: {}", shared.join("; "));
        lines.extend(Line::new().styled(FAINT, &words).wrap(width, 2));
    }
    if !folded.is_empty() {
        let what = format!("✔ {} ", count(folded.len(), "scenario"));
        let line = Line::new().styled(GOOD, &what);
        let names = if folded.len() > MAX_NAMED {
            let more = folded.len() - NAMED_OF_MANY;
            format!("{} and {more} more", folded[..NAMED_OF_MANY].join(", "))
        } else {
            folded.join(", ")
        };
        let words = format!("in which every lock held: {names}");
        lines.extend(line.styled(FAINT, &words).wrap(width, 2));
    }
    lines
}

/// Returns the rows of the grid by family. In a large grid, scenarios that look alike are one row, unless a result is
/// unexpected.
fn grid_rows<'a>(cells: &'a [(String, &'a Cell)], scenarios: Vec<&'a str>) -> Vec<Row<'a>> {
    let has_many = scenarios.len() > MAX_SEPARATE_ROWS;
    let mut rows: Vec<Row<'a>> = Vec::new();
    for scenario in scenarios {
        let here = cells.iter().filter(|(_, cell)| cell.scenario == scenario);
        let glyphs = here
            .clone()
            .map(|(lock, cell)| (lock.as_str(), mark(cell).0, cell.is_unexpected()));
        let verdicts = here.clone().flat_map(|(_, cell)| cell.verdicts.values());
        let causes = verdicts.filter_map(|verdict| verdict.cause);
        let signature = (glyphs.collect(), causes.collect());
        let is_unexpected = here.clone().any(|(_, cell)| cell.is_unexpected());
        let family = here
            .clone()
            .find_map(|(_, cell)| cell.setting.map(|setting| setting.family));
        let same = |row: &&mut Row<'_>| row.family == family && row.signature == signature;
        match rows
            .iter_mut()
            .find(same)
            .filter(|_| has_many && !is_unexpected)
        {
            Some(row) => row.scenarios.push(scenario),
            None => rows.push(Row {
                family,
                scenarios: vec![scenario],
                signature,
            }),
        }
    }
    rows.sort_by_key(|row| row.family);
    rows
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

    fn lines(&self, cells: &[(String, &Cell)], rows: &[Row<'_>], width: usize) -> Vec<Line> {
        let mut lines = self.head.clone();
        let families: Vec<&[Row<'_>]> = rows.chunk_by(|a, b| a.family == b.family).collect();
        for rows in &families {
            if let Some(family) = rows[0].family.filter(|_| families.len() > 1) {
                lines.push(Line::new().styled(FAINT, family.as_str()));
            }
            for row in *rows {
                lines.extend(self.row(cells, row, width));
            }
        }
        lines
    }

    /// Returns a row, with the causes of its violations if there is room. An unexpected result has a `!`.
    fn row(&self, cells: &[(String, &Cell)], row: &Row<'_>, width: usize) -> Vec<Line> {
        let scenario = row.scenarios[0];
        let mut line = Line::new().plain("  ").plain(&row.name());
        let mut causes: Vec<String> = Vec::new();
        for (lock, start) in self.locks.iter().zip(&self.starts) {
            line = line.pad_to(*start);
            let here = cells
                .iter()
                .filter(|(name, cell)| name == lock && cell.scenario == scenario);
            for (_, cell) in here {
                let (glyph, style, _) = mark(cell);
                line = line.styled(style, glyph);
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
    let used: Vec<&str> = cells.iter().map(|cell| mark(cell).0).collect();
    let mut line = Line::new();
    for (glyph, style, meaning) in marks() {
        if used.contains(&glyph) {
            let meaning = meaning.replace(' ', "\u{a0}");
            line = line.plain("  ").styled(style, glyph);
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
