//! The summary of one cell in the matrix: its result, who is at fault, and how certain that is.

use picklock_verdicts::check::{Cause, Property, Responsible, Status, Verdicts, describe};
use picklock_verdicts::record::{Cell, Tally};

use super::name::{Name, sentence};
use crate::matrix::{CellOutcome, NOT_APPLICABLE, describe_mismatch, distinct};
use crate::statistics::Rate;

/// A cell as the matrix shows it.
pub(super) struct Tile {
    /// `held`, `client`, `redis`, `lock`, `fenced`, `unknown`, `failed` or `absent`: selects the colour.
    pub(super) tone: &'static str,
    /// Conveys the tone without colour.
    pub(super) sign: &'static str,
    pub(super) headline: &'static str,
    /// The causes of the violations, the worst first.
    pub(super) causes: String,
    /// The letters of violated properties, then those that could not be judged after a `?`.
    pub(super) letters: String,
    /// Of several runs, in how many it was violated if not in all: `2/3`.
    pub(super) part: Option<String>,
    /// All of it in words, for those who point at it or cannot see it.
    pub(super) words: Name,
    /// A warning for results that are not as expected; empty if there is none.
    pub(super) flag: &'static str,
    /// True if a verdict is not as expected.
    pub(super) is_unexpected: bool,
    /// False if the scenario expects nothing of the lock.
    pub(super) has_expectations: bool,
    /// Expected and actual results, for the text on hover.
    pub(super) mismatches: Name,
}

impl Tile {
    /// True if something was violated, or could not be run.
    pub(super) fn is_red(&self) -> bool {
        matches!(self.tone, "lock" | "redis" | "client" | "fenced" | "failed")
    }
}

pub(super) fn tile(cell: &Cell) -> Tile {
    let is_not_run = CellOutcome::from_cell(cell) == CellOutcome::NotRun;
    let inapplicable = cell.inapplicable();
    let (tone, sign, headline) = match (is_not_run, inapplicable) {
        (true, _) => ("failed", "!", "could not be run"),
        (false, Some(_)) => ("absent", Status::NotApplicable.sign(), NOT_APPLICABLE),
        (false, None) => gist(&cell.verdicts),
    };
    let causes = match is_not_run {
        true => String::new(),
        false => causes(&cell.verdicts),
    };
    let mismatches = cell.mismatches.iter();
    let mismatches = mismatches.map(|mismatch| describe_mismatch(mismatch, cell.runs));
    Tile {
        tone,
        sign,
        headline,
        words: cell_name(cell, headline, inapplicable),
        causes,
        letters: letters(cell),
        part: part(cell),
        flag: flag(cell),
        is_unexpected: cell.is_unexpected(),
        has_expectations: cell.is_bound() || inapplicable.is_some(),
        mismatches: sentence(&mismatches.collect::<Vec<_>>().join("; ")),
    }
}

/// Tone, sign and headline: whose fault it was, then what was violated.
fn gist(verdicts: &Verdicts) -> (&'static str, &'static str, &'static str) {
    use Property::{Exclusion, Fencing, Lease, Resource};
    let is = |property, wanted| {
        let verdict = verdicts.get(&property);
        verdict.is_some_and(|verdict| verdict.status == wanted)
    };
    let violated = |property| is(property, Status::Violated);
    let sign = Status::Violated.sign();
    let is_clients = violated(Exclusion) && is(Lease, Status::Held);
    // The lock's main property first, then in reading order.
    let mut properties = [Lease].into_iter().chain(Property::ALL);
    let first = properties.find(|property| violated(*property));
    match (worst_blame(verdicts, is_clients), first) {
        (Some("client" | "redis"), _)
            if is(Fencing, Status::Held)
                && is(Resource, Status::Held)
                && Property::ALL
                    .iter()
                    .all(|one| !violated(*one) || matches!(one, Exclusion | Lease)) =>
        {
            ("fenced", "◆", "fencing did its work")
        }
        (Some("client"), _) if is_clients => ("client", sign, "client outlived its lease"),
        (Some(whose), Some(property)) => (whose, sign, describe(property).violated),
        _ if verdicts.is_empty() || verdicts.values().any(|v| v.status == Status::Unknown) => {
            ("unknown", Status::Unknown.sign(), "could not be judged")
        }
        _ => ("held", Status::Held.sign(), "held"),
    }
}

/// Whose fault the violations are: `lock` before `redis` before `client`; `None`: nothing was violated.
/// Without a known cause it is the client's if the service kept its word, else the lock's.
fn worst_blame(verdicts: &Verdicts, is_clients: bool) -> Option<&'static str> {
    let violated = verdicts.values();
    let violated = violated.filter(|verdict| verdict.status == Status::Violated);
    let blamed = violated.map(|verdict| match verdict.cause.map(Cause::responsible) {
        Some(Responsible::Client(_) | Responsible::Application(_) | Responsible::Resource(_)) => 0,
        Some(Responsible::Undetermined) | None if is_clients => 0,
        Some(Responsible::Redis) => 1,
        Some(Responsible::Lock | Responsible::Undetermined) | None => 2,
    });
    blamed.max().map(|worst| ["client", "redis", "lock"][worst])
}

/// Each cause once, those of the most severe violations first.
fn causes(verdicts: &Verdicts) -> String {
    let violated = verdicts.iter();
    let violated = violated.filter(|(_, verdict)| verdict.status == Status::Violated);
    let mut violated: Vec<_> = violated.collect();
    violated.sort_by_key(|(property, _)| describe(**property).severity);
    let causes = violated.iter().filter_map(|(_, verdict)| verdict.cause);
    distinct(causes.map(|cause| cause.as_str())).join(", ")
}

fn flag(cell: &Cell) -> &'static str {
    if cell.is_unexpected() {
        "‼ not as expected"
    } else if !cell.is_as_expected() && cell.error.is_none() {
        "? expected, not judged"
    } else {
        ""
    }
}

fn letters(cell: &Cell) -> String {
    let of = |status| {
        let verdicts = cell.verdicts.iter();
        let same = verdicts.filter(move |(_, verdict)| verdict.status == status);
        same.map(|(property, _)| describe(*property).letter)
    };
    let mut letters: String = of(Status::Violated).collect();
    let unknown: String = of(Status::Unknown).collect();
    if !letters.is_empty() && !unknown.is_empty() {
        // After violated ones they need a sign of their own.
        letters.push_str(Status::Unknown.sign());
    }
    letters.push_str(&unknown);
    letters
}

/// Of the property that was violated most often.
fn part(cell: &Cell) -> Option<String> {
    let most = cell.tally.values().max_by_key(|tally| tally.violated)?;
    let judged = most.held.saturating_add(most.violated);
    (most.violated > 0 && most.violated < judged).then(|| format!("{}/{judged}", most.violated))
}

/// `client outlived its lease; exclusion, resource violated: outlived-lease; 2/3 runs`.
fn cell_name(cell: &Cell, headline: &str, inapplicable: Option<&str>) -> Name {
    let mut parts = vec![headline.to_owned()];
    parts.extend(inapplicable.map(str::to_owned));
    let violated = cell.verdicts.iter();
    let violated = violated.filter(|(_, verdict)| verdict.status == Status::Violated);
    let violated: Vec<&str> = violated.map(|(property, _)| property.as_str()).collect();
    if !violated.is_empty() {
        let causes = causes(&cell.verdicts);
        parts.push(format!("{} violated: {causes}", violated.join(", ")));
    }
    parts.extend(part(cell).map(|part| format!("in {part} of the runs")));
    let flag = Some(flag(cell)).filter(|flag| !flag.is_empty());
    parts.extend(flag.map(str::to_owned));
    sentence(&parts.join("; "))
}

/// The observed rate, with bounds of the true one.
pub(super) fn rate_of(tally: &Tally) -> String {
    let judged = tally.held + tally.violated;
    match Rate::new(tally.violated, judged) {
        Some(rate) => format!("violated {}", rate.describe()),
        None => "never judged".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use picklock_verdicts::check::Verdict;

    use super::*;

    fn gist_of(
        exclusion: Status,
        lease: Status,
        resource: Status,
        fencing: Status,
    ) -> &'static str {
        let of = |status| Verdict {
            status,
            ..Verdict::held()
        };
        let verdicts = Verdicts::from([
            (Property::Exclusion, of(exclusion)),
            (Property::Lease, of(lease)),
            (Property::Resource, of(resource)),
            (Property::Fencing, of(fencing)),
        ]);
        gist(&verdicts).2
    }

    #[test]
    fn the_gist_says_who_is_responsible() {
        use Status::{Held, NotApplicable, Unknown, Violated};
        let cases = [
            ((Held, Held, Held, NotApplicable), "held"),
            (
                (Violated, Held, Violated, NotApplicable),
                "client outlived its lease",
            ),
            (
                (Violated, Held, Held, NotApplicable),
                "client outlived its lease",
            ),
            ((Violated, Held, Held, Held), "fencing did its work"),
            (
                (Violated, Violated, Held, Held),
                "two clients' leases overlapped",
            ),
            (
                (Violated, Unknown, Held, NotApplicable),
                "two clients held one lock",
            ),
            (
                (Held, Held, Violated, NotApplicable),
                "the stock does not add up",
            ),
            ((Held, Unknown, Held, NotApplicable), "could not be judged"),
        ];
        for ((exclusion, lease, resource, fencing), words) in cases {
            assert_eq!(gist_of(exclusion, lease, resource, fencing), words);
        }
    }

    #[test]
    fn rates_carry_their_bounds() {
        let rate = |held, violated| {
            rate_of(&Tally {
                held,
                violated,
                ..Tally::default()
            })
        };
        assert_eq!(rate(100, 0), "violated 0 of 100 (≤ 3.7 %)");
        assert_eq!(rate(0, 20), "violated 20 of 20 (≥ 83.1 %)");
        assert_eq!(rate(0, 0), "never judged");
    }
}
