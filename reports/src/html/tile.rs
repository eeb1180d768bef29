//! The summary of one cell in the matrix: its result, who is at fault, and how certain that is.

use picklock_verdicts::check::{Property, Status, Verdicts, describe};
use picklock_verdicts::record::{Cell, Tally};

use super::name::{Name, sentence};
use super::tone::Tone;
use crate::cell_status::overall;
use crate::matrix::{CellOutcome, NOT_APPLICABLE, describe_mismatch, distinct};
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
    /// The fraction of runs with a violation, such as `2/3`, unless it occurred in all of them.
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
    let is_not_run = CellOutcome::from_cell(cell) == CellOutcome::NotRun;
    let inapplicable = cell.inapplicable();
    let (tone, sign, headline) = if is_not_run {
        (Tone::Failed, "!", "failed to run")
    } else if inapplicable.is_some() {
        (Tone::Absent, Status::NotApplicable.sign(), NOT_APPLICABLE)
    } else {
        gist(&cell.verdicts)
    };
    let mismatches = cell.mismatches.iter();
    let mismatches = mismatches.map(|mismatch| describe_mismatch(mismatch, cell.runs));
    Tile {
        tone,
        sign,
        headline,
        words: cell_name(cell, headline, inapplicable),
        causes: if is_not_run {
            String::new()
        } else {
            causes(&cell.verdicts)
        },
        part: part(cell),
        flag: flag(cell),
        is_unexpected: cell.is_unexpected(),
        has_expectations: cell.is_bound() || inapplicable.is_some(),
        mismatches: sentence(&mismatches.collect::<Vec<_>>().join("; ")),
    }
}

/// Returns tone, sign and headline: the party at fault, and the violated property.
fn gist(verdicts: &Verdicts) -> (Tone, &'static str, &'static str) {
    let blame = Blame::from_verdicts(verdicts);
    if blame.is_fenced() {
        return (Tone::Fenced, "◆", "fencing did its work");
    }
    // The lock's main property first, then in reading order.
    let mut properties = [Property::Lease].into_iter().chain(Property::ALL);
    let first = properties.find(|property| blame.party(*property).is_some());
    let (Some(party), Some(first)) = (blame.worst(), first) else {
        return match overall(verdicts) {
            Status::Unknown => (Tone::Unknown, Status::Unknown.sign(), "inconclusive"),
            _ => (Tone::Held, Status::Held.sign(), "held"),
        };
    };
    let headline = match party {
        Party::Client if first == Property::Exclusion => "client outlived its lease",
        _ => describe(first).violated,
    };
    (party.into(), sign(party), headline)
}

/// Returns the sign of a violation for which `party` is at fault, as the terminal shows it.
fn sign(party: Party) -> &'static str {
    match party {
        Party::Lock => Status::Violated.sign(),
        Party::Redis => "R",
        Party::Client => "C",
        Party::Outside => "A",
        Party::Undetermined => "U",
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
    use picklock_verdicts::check::Verdict;

    use super::*;

    #[test]
    fn gist_names_the_fault() {
        use Status::{Held, NotApplicable, Unknown, Violated};
        let cases = [
            ((Held, Held, Held, NotApplicable), (Tone::Held, "held")),
            (
                (Violated, Held, Violated, NotApplicable),
                (Tone::Client, "client outlived its lease"),
            ),
            (
                (Violated, Held, Held, NotApplicable),
                (Tone::Client, "client outlived its lease"),
            ),
            (
                (Violated, Held, Held, Held),
                (Tone::Fenced, "fencing did its work"),
            ),
            (
                (Violated, Violated, Held, Held),
                (Tone::Undetermined, "two clients' leases overlapped"),
            ),
            (
                (Violated, Unknown, Held, NotApplicable),
                (Tone::Undetermined, "two clients held one lock"),
            ),
            (
                (Held, Held, Violated, NotApplicable),
                (Tone::Client, "the stock does not add up"),
            ),
            (
                (Held, Unknown, Held, NotApplicable),
                (Tone::Unknown, "inconclusive"),
            ),
        ];
        for ((exclusion, lease, resource, fencing), expected) in cases {
            let verdict = |status| Verdict {
                status,
                ..Verdict::held()
            };
            let verdicts = Verdicts::from([
                (Property::Exclusion, verdict(exclusion)),
                (Property::Lease, verdict(lease)),
                (Property::Resource, verdict(resource)),
                (Property::Fencing, verdict(fencing)),
            ]);
            let (tone, _, headline) = gist(&verdicts);
            assert_eq!((tone, headline), expected);
        }
    }

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
