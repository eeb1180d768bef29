//! The violations of a matrix by cause, and all unexpected results, with remedy, story and command.

use std::collections::BTreeSet;

use picklock_verdicts::check::Cause;
use picklock_verdicts::record::{Cell, MatrixRecord};

use super::super::command::reproduce;
use super::super::line::{BAD, FAINT, Line, STRONG, WARN, style_of_party};
use super::cell::{mark, mark_of_party};
use crate::cell_status::title;
use crate::matrix::{CellOutcome, describe_mismatch, distinct, lock_with_options, rank};
use crate::problem::{Problem, problems};
use crate::responsibility::Party;
use crate::units::count;

/// Maximum number of parts in detail. The rest is counted.
const MAX_PARTS: usize = 20;

/// Maximum number of lines of an error.
const MAX_LINES: usize = 5;

/// Maximum number of names to list. The rest is counted.
const MAX_NAMES: usize = 4;

/// Violations of one lock with one cause. One bug often shows in several scenarios.
struct Bug<'a> {
    lock: String,
    cause: Option<Cause>,
    party: Party,
    cells: Vec<(&'a Cell, Problem<'a>)>,
}

impl Bug<'_> {
    /// Returns `true` if no scenario expects the violation of the lock, or if the lock has no expectations.
    fn is_news(&self) -> bool {
        let is_news = |(cell, problem): &(&Cell, Problem<'_>)| match CellOutcome::from_cell(cell) {
            CellOutcome::Unexpected => {
                let mut unexpected = cell.mismatches.iter().map(|it| it.property);
                unexpected.any(|property| problem.properties.contains(&property))
            }
            CellOutcome::ViolatedNoExpectation => self.party == Party::Lock,
            _ => false,
        };
        self.cells.iter().any(is_news)
    }
}

/// Returns the bugs, those of locks first.
fn bugs(record: &MatrixRecord) -> Vec<Bug<'_>> {
    let mut bugs: Vec<Bug<'_>> = Vec::new();
    for cell in &record.cells {
        if CellOutcome::from_cell(cell) == CellOutcome::NotRun {
            continue;
        }
        let lock = lock_with_options(cell);
        for problem in problems(&cell.verdicts) {
            let cause = problem.causes.first().copied();
            let is_same = |bug: &&mut Bug<'_>| {
                bug.lock == lock && bug.cause == cause && bug.party == problem.party
            };
            match bugs.iter_mut().find(is_same) {
                Some(bug) => bug.cells.push((cell, problem)),
                None => bugs.push(Bug {
                    lock: lock.clone(),
                    cause,
                    party: problem.party,
                    cells: vec![(cell, problem)],
                }),
            }
        }
    }
    bugs.sort_by_key(|bug| std::cmp::Reverse(bug.party));
    bugs
}

/// Returns one line per remedy against violations that are expected or not the lock's fault.
pub(super) fn causes(record: &MatrixRecord, width: usize) -> Vec<Line> {
    let bugs = bugs(record);
    let known: Vec<&Bug<'_>> = bugs.iter().filter(|bug| !bug.is_news()).collect();
    let kinds: BTreeSet<_> = known
        .iter()
        .map(|bug| (std::cmp::Reverse(bug.party), bug.cause))
        .collect();
    // Causes with the same remedy share a line. Violations that no lock can prevent are summarised in one line.
    let mut groups: Vec<(Party, Vec<Option<Cause>>)> = Vec::new();
    for (party, cause) in kinds {
        let remedy = cause.and_then(Cause::remedy);
        let same = groups.iter_mut().find(|(known, causes)| {
            let is_same = remedy.is_some() && causes[0].and_then(Cause::remedy) == remedy;
            *known == party.0 && (party.0 == Party::Outside || is_same)
        });
        match same {
            Some((_, causes)) => causes.push(cause),
            None => groups.push((party.0, vec![cause])),
        }
    }
    let lines = groups.into_iter().flat_map(|(party, causes)| {
        let here = known.iter().copied();
        let here = here.filter(|it| it.party == party && causes.contains(&it.cause));
        remedy_line(party, &causes, &here.collect::<Vec<_>>()).wrap(width, 4)
    });
    lines.collect()
}

/// Returns the line of causes with the same remedy.
fn remedy_line(party: Party, causes: &[Option<Cause>], bugs: &[&Bug<'_>]) -> Line {
    let (glyph, style, _) = mark_of_party(party);
    let names = causes.iter().map(|it| it.map_or("violated", Cause::as_str));
    let names: Vec<&str> = names.collect();
    let line = Line::new().styled(style, &format!("{glyph} {}", names.join(", ")));
    if party == Party::Outside && causes.len() > 1 {
        return line.styled(FAINT, "  no lock can prevent these (picklock explain NAME)");
    }
    let names = distinct(bugs.iter().map(|bug| bug.lock.as_str()));
    let locks = match party {
        Party::Lock => named(&names),
        _ => count(names.len(), "lock"),
    };
    let cells = bugs.iter().flat_map(|bug| &bug.cells);
    let scenarios = distinct(cells.map(|(cell, _)| cell.scenario.as_str()));
    let scenarios = match scenarios.as_slice() {
        [one] => (*one).to_owned(),
        several => count(several.len(), "scenario"),
    };
    let remedy = causes
        .iter()
        .find_map(|cause| cause.and_then(Cause::remedy));
    let remedy = remedy.map_or(String::new(), |it| format!(": {it}"));
    line.plain(&format!("  {locks} in {scenarios}"))
        .styled(FAINT, &remedy)
}

/// Joins names, such as `a, b and 3 more`.
fn named(names: &[&str]) -> String {
    match names.len().checked_sub(MAX_NAMES) {
        Some(more @ 1..) => format!("{} and {more} more", names[..MAX_NAMES].join(", ")),
        _ => names.join(", "),
    }
}

/// Returns one part per unexpected bug, then one per other cell that is not as expected.
pub(super) fn parts(record: &MatrixRecord, width: usize) -> Vec<Vec<Line>> {
    let bugs = bugs(record);
    let news: Vec<&Bug<'_>> = bugs.iter().filter(|bug| bug.is_news()).collect();
    let is_told = |cell: &Cell| {
        let mut told = news.iter().flat_map(|bug| &bug.cells);
        told.any(|(one, _)| std::ptr::eq(*one, cell))
    };
    let cells = record.cells.iter();
    let mut others: Vec<&Cell> = cells
        .filter(|it| !it.is_as_expected() && !is_told(it))
        .collect();
    others.sort_by_key(|cell| rank(cell));
    // Cells of one lock that failed to run for the same reason are one part.
    let mut alike: Vec<Vec<&Cell>> = Vec::new();
    for cell in others {
        let same = alike.iter_mut().find(|cells| {
            let first = cells[0];
            cell.error.is_some() && first.error == cell.error && first.lock == cell.lock
        });
        match same {
            Some(cells) => cells.push(cell),
            None => alike.push(vec![cell]),
        }
    }
    let all = news.len() + alike.len();
    let bugs = news.iter().map(|bug| bug_part(bug, width));
    let others = alike.iter().map(|cells| cell_part(cells, width));
    let mut parts: Vec<Vec<Line>> = bugs.chain(others).take(MAX_PARTS).collect();
    if all > MAX_PARTS {
        let text = format!("and {} more (--json has them all)", all - MAX_PARTS);
        parts.push(vec![Line::new().styled(FAINT, &text)]);
    }
    parts
}

fn bug_part(bug: &Bug<'_>, width: usize) -> Vec<Line> {
    let style = style_of_party(bug.party);
    let Some((cell, problem)) = bug.cells.first() else {
        return Vec::new();
    };
    let scenarios = distinct(bug.cells.iter().map(|(cell, _)| cell.scenario.as_str()));
    let head = Line::new().styled(style, "✘ ").styled(STRONG, &bug.lock);
    let head = head.plain(&format!(" in {}: ", scenarios.join(", ")));
    let mut lines = head.styled(STRONG, problem.name()).wrap(width, 2);
    let fault = format!(
        "  {}. {}",
        problem.headline(),
        problem.fault(&cell.verdicts)
    );
    lines.extend(Line::new().plain(&fault).wrap(width, 2));
    if let Some(remedy) = problem.remedy() {
        let line = Line::new()
            .plain("  ")
            .styled(STRONG, &format!("Remedy: {remedy}"));
        lines.extend(line.wrap(width, 4));
    }
    lines.extend(mismatches(cell, width));
    for line in problem.fault_and_deciding() {
        lines.extend(Line::new().plain("    ").plain(line).wrap(width, 13));
    }
    lines.extend(reproduce(&cell.reproduce, width));
    lines
}

fn mismatches(cell: &Cell, width: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    for mismatch in &cell.mismatches {
        let style = if mismatch.is_judged() { BAD } else { WARN };
        let text = describe_mismatch(mismatch, cell.runs);
        lines.extend(Line::new().plain("  ").styled(style, &text).wrap(width, 4));
    }
    lines
}

/// Returns the part of the first cell. The others failed to run for the same reason.
fn cell_part(cells: &[&Cell], width: usize) -> Vec<Line> {
    let Some(cell) = cells.first() else {
        return Vec::new();
    };
    let (glyph, style, _) = mark(cell);
    let head = Line::new().styled(style, &format!("{glyph} "));
    let mut lines = head.styled(STRONG, &title(cell)).wrap(width, 2);
    if let Some(error) = &cell.error {
        let also = match cells.len() - 1 {
            0 => String::new(),
            more => format!(", and {} for the same reason", count(more, "more cell")),
        };
        let text = format!("  failed to run{also}");
        lines.extend(Line::new().plain(&text).wrap(width, 4));
        for line in error.lines().take(MAX_LINES) {
            lines.extend(Line::new().plain("    ").plain(line).wrap(width, 6));
        }
    }
    lines.extend(mismatches(cell, width));
    let shown = cell
        .mismatches
        .iter()
        .filter_map(|it| cell.verdicts.get(&it.property));
    let reasons = shown.flat_map(|verdict| &verdict.story);
    for reason in distinct(reasons.map(String::as_str))
        .into_iter()
        .take(MAX_LINES)
    {
        lines.extend(Line::new().plain("    ").plain(reason).wrap(width, 6));
    }
    lines.extend(reproduce(&cell.reproduce, width));
    lines
}
