//! The matrix as a list, for widths that no table fits: a heading per scenario, a line per lock.

use picklock_verdicts::check::Status;
use picklock_verdicts::record::Cell;

use super::super::line::{BAD, FAINT, Line, STRONG, WARN, columns};
use super::cell::{p99, sign, with};
use crate::matrix::{CellOutcome, NOT_APPLICABLE, distinct, name_of_lock};

/// Maximum width of the column for names.
const MAX_NAME_WIDTH: usize = 28;

pub(super) fn lines(cells: &[&Cell], width: usize) -> Vec<Line> {
    let name_of_lock = name_of_lock(cells.iter().copied());
    let names = cells.iter().map(|cell| columns(&name_of_lock(cell)));
    let column = 2 + names.max().unwrap_or(0).min(MAX_NAME_WIDTH) + 2;
    let mut lines = Vec::new();
    for scenario in distinct(cells.iter().map(|cell| cell.scenario.as_str())) {
        lines.push(Line::new().styled(STRONG, scenario));
        for cell in cells.iter().filter(|cell| cell.scenario == scenario) {
            lines.extend(row(cell, &name_of_lock(cell), column, width));
        }
    }
    lines
}

fn row(cell: &Cell, name: &str, column: usize, width: usize) -> Vec<Line> {
    let (sign, style) = sign(cell);
    let mut line = Line::new()
        .plain("  ")
        .plain(name)
        .plain("  ")
        .pad_to(column)
        .styled(style, sign)
        .plain(" ");
    let is_not_run = CellOutcome::from_cell(cell) == CellOutcome::NotRun;
    if let Some(error) = cell.error.as_ref().filter(|_| is_not_run) {
        let first = error.lines().next().unwrap_or_default();
        let line = line.plain("failed to run: ").plain(first);
        return line.wrap(width, column + 2);
    }
    if let Some(reason) = cell.inapplicable() {
        let text = format!("{NOT_APPLICABLE}: {reason}");
        return line.styled(FAINT, &text).wrap(width, column + 2);
    }
    let violated = by_cause(cell);
    let unknown: Vec<&str> = with(cell, Status::Unknown).map(|p| p.as_str()).collect();
    line = match (violated.is_empty(), unknown.is_empty()) {
        (true, true) => line.plain("held"),
        _ => line.plain(&violated.join(" · ")),
    };
    if !unknown.is_empty() {
        let text = format!("inconclusive: {}", unknown.join(", "));
        let gap = if violated.is_empty() { "" } else { " · " };
        line = line.plain(gap).styled(WARN, &text);
    }
    if cell.is_unexpected() {
        line = line.plain(" · ").styled(BAD, "unexpected");
    } else if !cell.is_bound() {
        line = line.styled(FAINT, " · no expectation");
    }
    if let Some(p99) = p99(cell) {
        line = line.styled(FAINT, "  ").styled(FAINT, &p99);
    }
    line.wrap(width, column + 2)
}

/// Groups violated properties by cause, such as `exclusion, resource: outlived-lease`.
fn by_cause(cell: &Cell) -> Vec<String> {
    let cause_of = |property| {
        let verdict = &cell.verdicts[&property];
        verdict.cause.map_or("violated", |cause| cause.as_str())
    };
    let causes = distinct(with(cell, Status::Violated).map(cause_of));
    let texts = causes.into_iter().map(|cause| {
        let of_cause = with(cell, Status::Violated).filter(|one| cause_of(*one) == cause);
        let words: Vec<&str> = of_cause.map(|property| property.as_str()).collect();
        format!("{}: {cause}", words.join(", "))
    });
    texts.collect()
}
