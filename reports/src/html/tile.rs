//! The summary of one cell in the matrix: its result, who is at fault, and how certain that is.

use picklock_verdicts::check::{Property, Status, Verdicts, describe};
use picklock_verdicts::record::{Cell, Tally};

use super::name::{Name, sentence};
use super::tone::Tone;
use crate::cell_mark::CellMark;
use crate::matrix::{describe_mismatch, distinct};
use crate::responsibility::{Blame, Party};
use crate::statistics::Rate;

/// A cell as the matrix shows it.
pub(super) struct Tile {
    /// Selects the colour.
    pub(super) tone: Tone,
    /// Conveys the tone without colour.
    pub(super) sign: &'static str,
    pub(super) headline: &'static str,
    /// The causes of the violations, worst first.
    pub(super) causes: String,
    /// The fraction of runs with a violation, such as `2/3`, or `None` if all runs have it.
    pub(super) part: Option<String>,
    /// A description for readers who hover over the tile or cannot see it.
    pub(super) words: Name,
    /// A warning for unexpected results, or empty.
    pub(super) flag: &'static str,
    /// Whether a verdict is unexpected.
    pub(super) is_unexpected: bool,
    /// Whether the scenario has expectations of the lock.
    pub(super) has_expectations: bool,
    /// Expected and actual results, for the text on hover.
    pub(super) mismatches: Name,
}

pub(super) fn tile(cell: &Cell) -> Tile {
    let mark = CellMark::from_cell(cell);
    let headline = headline(mark, cell);
    let mismatches = cell.mismatches.iter();
    let mismatches = mismatches.map(|mismatch| describe_mismatch(mismatch, cell.runs));
    Tile {
        tone: mark.into(),
        sign: mark.sign(),
        headline,
        words: cell_name(cell, headline, cell.inapplicable()),
        causes: match mark {
            CellMark::NotRun => String::new(),
            _ => causes(&cell.verdicts),
        },
        part: part(cell),
        flag: flag(cell),
        is_unexpected: cell.is_unexpected(),
        has_expectations: cell.is_bound() || mark == CellMark::NotApplicable,
        mismatches: sentence(&mismatches.collect::<Vec<_>>().join("; ")),
    }
}

/// Returns what happened in a few words: the violated property, or the meaning of the mark.
fn headline(mark: CellMark, cell: &Cell) -> &'static str {
    let CellMark::Fault(party) = mark else {
        return match mark {
            CellMark::Fenced => "fencing did its work",
            _ => mark.meaning(),
        };
    };
    let blame = Blame::from_cell(cell);
    // The lock's main property first, then in reading order.
    let mut properties = [Property::Lease].into_iter().chain(Property::ALL);
    match properties.find(|property| blame.party(*property).is_some()) {
        Some(Property::Exclusion) if party == Party::Client => "client outlived its lease",
        Some(first) => describe(first).violated,
        None => mark.meaning(),
    }
}

/// Lists each cause once, starting with the causes of the most severe violations.
fn causes(verdicts: &Verdicts) -> String {
    let mut violated: Vec<_> = verdicts
        .iter()
        .filter(|(_, verdict)| verdict.status == Status::Violated)
        .collect();
    violated.sort_by_key(|(property, _)| describe(**property).severity);
    let causes = violated.iter().filter_map(|(_, verdict)| verdict.cause);
    distinct(causes.map(|cause| cause.as_str())).join(", ")
}

fn flag(cell: &Cell) -> &'static str {
    if cell.is_unexpected() {
        "‼ unexpected"
    } else if !cell.is_as_expected() && cell.error.is_none() {
        "? inconclusive"
    } else {
        ""
    }
}

/// Returns the fraction of runs with a violation of the property that was violated most often.
fn part(cell: &Cell) -> Option<String> {
    let most = cell.tally.values().max_by_key(|tally| tally.violated)?;
    let judged = most.held.saturating_add(most.violated);
    (most.violated > 0 && most.violated < judged).then(|| format!("{}/{judged}", most.violated))
}

/// Describes a cell, such as `client outlived its lease; exclusion, resource violated: outlived-lease; in 2/3 of the
/// runs`.
fn cell_name(cell: &Cell, headline: &str, inapplicable: Option<&str>) -> Name {
    let mut parts = vec![headline.to_owned()];
    parts.extend(inapplicable.map(str::to_owned));
    let violated: Vec<&str> = (cell.verdicts.iter())
        .filter(|(_, verdict)| verdict.status == Status::Violated)
        .map(|(property, _)| property.as_str())
        .collect();
    if !violated.is_empty() {
        let causes = causes(&cell.verdicts);
        parts.push(format!("{} violated: {causes}", violated.join(", ")));
    }
    parts.extend(part(cell).map(|part| format!("in {part} of the runs")));
    let flag = Some(flag(cell)).filter(|flag| !flag.is_empty());
    parts.extend(flag.map(str::to_owned));
    sentence(&parts.join("; "))
}

/// Formats the observed rate with the bounds of the true rate.
pub(super) fn describe_rate(tally: &Tally) -> String {
    let judged = tally.held + tally.violated;
    match Rate::new(tally.violated, judged) {
        Some(rate) => format!("violated {}", rate.describe()),
        None => "always inconclusive".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rate_is_formatted_with_its_bounds() {
        let rate = |held, violated| {
            describe_rate(&Tally {
                held,
                violated,
                ..Tally::default()
            })
        };
        assert_eq!(rate(100, 0), "violated 0 of 100 (≤ 3.7 %)");
        assert_eq!(rate(0, 20), "violated 20 of 20 (≥ 83.1 %)");
        assert_eq!(rate(0, 0), "always inconclusive");
    }
}
