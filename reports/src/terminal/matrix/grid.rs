//! The matrix as a grid: scenarios as rows, grouped by family, and locks as columns, with one glyph per cell.

use std::collections::BTreeSet;

use anstyle::Style;
use picklock_scenarios::Family;
use picklock_verdicts::check::Cause;
use picklock_verdicts::record::Cell;

use super::super::line::{BAD, FAINT, GOOD, Line, STRONG, columns, style_of_party};
use super::cell::{is_green, mark, marks};
use crate::cell_mark::CellMark;
use crate::matrix::{distinct, name_of_lock};
use crate::responsibility::Party;
use crate::units::count;

/// Gap between columns.
const GAP: usize = 2;

/// Width of a column whose name is on a separate line above it.
const NARROW: usize = 3;

/// Minimum room for the causes behind a row.
const MIN_NOTE_WIDTH: usize = 24;

/// Minimum number of rows in which all cells are green, or all are outside of the locks, that are folded into one.
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
    /// The lock and the glyph of each cell, whether its result is unexpected, and the causes of the row if a lock is at
    /// fault.
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
    let mut rows = scenarios;
    let green = take(&mut rows, cells, is_green);
    let outside = take(&mut rows, cells, is_outside);
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
    let (glyph, style) = (Party::Outside.sign(), style_of_party(Party::Outside));
    let folded = [
        (glyph, style, "that no lock can influence", outside),
        ("✔", GOOD, "in which every lock held", green),
    ];
    for (glyph, style, words, scenarios) in folded {
        lines.extend(folded_line((glyph, style), words, &scenarios, width));
    }
    lines
}

/// Removes the scenarios in which `is_folded` holds for all cells, if there are several, and returns them.
fn take<'a>(
    scenarios: &mut Vec<&'a str>,
    cells: &[&Cell],
    is_folded: fn(&Cell) -> bool,
) -> Vec<&'a str> {
    let is_folded = |scenario: &&str| {
        let mut here = cells.iter().filter(|cell| cell.scenario == *scenario);
        here.all(|cell| is_folded(cell))
    };
    if scenarios.iter().filter(|it| is_folded(it)).count() < MIN_FOLDED {
        return Vec::new();
    }
    scenarios.extract_if(.., |it| is_folded(it)).collect()
}

/// Returns the line of folded scenarios, if there are any.
fn folded_line(
    (glyph, style): (&str, Style),
    words: &str,
    scenarios: &[&str],
    width: usize,
) -> Vec<Line> {
    if scenarios.is_empty() {
        return Vec::new();
    }
    let line = Line::new().styled(
        style,
        &format!("{glyph} {} ", count(scenarios.len(), "scenario")),
    );
    let names = if scenarios.len() > MAX_NAMED {
        let more = scenarios.len() - NAMED_OF_MANY;
        format!("{} and {more} more", scenarios[..NAMED_OF_MANY].join(", "))
    } else {
        scenarios.join(", ")
    };
    line.styled(FAINT, &format!("{words}: {names}"))
        .wrap(width, 2)
}

/// Returns `true` if the application or the resource is at fault, as expected, or if the cell is not applicable.
fn is_outside(cell: &Cell) -> bool {
    let mark = CellMark::from_cell(cell);
    matches!(
        mark,
        CellMark::Fault(Party::Outside) | CellMark::NotApplicable
    ) && cell.is_as_expected()
}

/// Returns the rows of the grid by family. In a large grid, scenarios that look alike are one row, unless a result is
/// unexpected, or unless a lock is at fault for different causes.
fn grid_rows<'a>(cells: &'a [(String, &'a Cell)], scenarios: Vec<&'a str>) -> Vec<Row<'a>> {
    let has_many = scenarios.len() > MAX_SEPARATE_ROWS;
    let mut rows: Vec<Row<'a>> = Vec::new();
    for scenario in scenarios {
        let here = cells.iter().filter(|(_, cell)| cell.scenario == scenario);
        let glyphs = here
            .clone()
            .map(|(lock, cell)| (lock.as_str(), mark(cell).0, cell.is_unexpected()));
        let is_locks = here
            .clone()
            .any(|(_, cell)| CellMark::from_cell(cell) == CellMark::Fault(Party::Lock));
        let verdicts = here.clone().flat_map(|(_, cell)| cell.verdicts.values());
        let causes = verdicts.filter_map(|verdict| verdict.cause);
        let signature = (glyphs.collect(), causes.filter(|_| is_locks).collect());
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
        let places = 0..locks.len();
        let starts: Vec<usize> = places.map(|place| first + NARROW * place).collect();
        Columns {
            end: first + NARROW * locks.len(),
            head: branching_head(locks, &starts, width),
            locks,
            starts,
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
            }
        }
        if self.end + MIN_NOTE_WIDTH > width {
            return vec![line.cut(width)];
        }
        let is_here = |name: &str, cell: &Cell| {
            self.locks.contains(&name) && row.scenarios.contains(&cell.scenario.as_str())
        };
        let here = cells.iter().filter(|(name, cell)| is_here(name, cell));
        let verdicts = here.flat_map(|(_, cell)| cell.verdicts.values());
        let causes = verdicts.filter_map(|verdict| Some(verdict.cause?.as_str()));
        let causes = distinct(causes).join(", ");
        vec![line.pad_to(self.end).styled(FAINT, &causes).cut(width)]
    }
}

/// Returns the lines with the names, each directly above its column. The names of the first half end there, and the
/// others begin there, so that two names share a line.
fn branching_head(locks: &[&str], starts: &[usize], width: usize) -> Vec<Line> {
    let half = locks.len() / 2;
    let has_room = |(lock, start): (&&str, &usize)| columns(lock) <= *start;
    let has_room = locks[..half].iter().zip(starts).all(has_room);
    let half = if has_room { half } else { 0 };
    let line = |number: usize| {
        let (left, right) = (half.checked_sub(number + 1), half + number);
        let mut line = Line::new();
        if let Some(left) = left {
            let name = locks[left];
            line = line
                .pad_to(starts[left] + 1 - columns(name))
                .styled(STRONG, name);
        }
        for start in &starts[left.map_or(0, |left| left + 1)..right] {
            line = line.pad_to(*start).styled(FAINT, "│");
        }
        let line = line.pad_to(starts[right]).styled(STRONG, locks[right]);
        line.cut(width)
    };
    (0..locks.len() - half).map(line).collect()
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
