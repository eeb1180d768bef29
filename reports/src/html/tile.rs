//! The summary of one cell in the matrix: its result, who is at fault, and how certain that is.

use picklock_verdicts::check::{Property, Status, Verdicts, describe};
use picklock_verdicts::record::{Cell, Tally};

use super::name::{Name, name};
use crate::matrix::{CellOutcome, NOT_APPLICABLE, distinct, surprise_in_words};
use crate::statistics::Rate;
use crate::verdict_line::verdict_line;

/// A cell as the matrix shows it.
#[derive(Debug)]
pub(super) struct Tile {
    /// `held`, `client`, `lock`, `fenced`, `unknown`, `failed` or `absent`: selects the colour.
    pub(super) tone: &'static str,
    /// Conveys the tone without colour.
    pub(super) sign: &'static str,
    /// A few words.
    pub(super) headline: &'static str,
    /// The causes of the violations, the worst first.
    pub(super) causes: String,
    pub(super) letters: Vec<Letter>,
    /// With several runs: the violation rate with its bounds.
    pub(super) rate: Option<String>,
    /// A warning for results that are not as expected; empty if there is none.
    pub(super) flag: &'static str,
    /// False if the scenario expects nothing of the lock.
    pub(super) has_expectations: bool,
    /// Expected and actual results, for the text on hover.
    pub(super) surprises: Name,
}

/// One property.
#[derive(Debug)]
pub(super) struct Letter {
    pub(super) letter: char,
    pub(super) sign: &'static str,
    pub(super) status: &'static str,
    pub(super) hover: Name,
}

pub(super) fn tile(cell: &Cell) -> Tile {
    let is_not_run = CellOutcome::of(cell) == CellOutcome::NotRun;
    let inapplicable = cell.inapplicable();
    let (tone, sign, headline) = match (is_not_run, inapplicable) {
        (true, _) => ("failed", "!", "could not be run"),
        (false, Some(_)) => ("absent", Status::NotApplicable.sign(), NOT_APPLICABLE),
        (false, None) => gist(&cell.verdicts),
    };
    let letters = cell.verdicts.iter().map(|(&property, verdict)| Letter {
        letter: describe(property).letter,
        sign: verdict.status.sign(),
        status: verdict.status.word(),
        hover: name(&format!("{property} {}", verdict_line(property, verdict))),
    });
    let surprises = cell.surprises.iter();
    let words: Vec<String> = surprises
        .map(|surprise| surprise_in_words(surprise, cell.runs))
        .collect();
    Tile {
        tone,
        sign,
        headline,
        causes: if is_not_run {
            String::new()
        } else {
            causes(&cell.verdicts)
        },
        letters: letters.collect(),
        rate: rate(cell),
        flag: flag(cell),
        has_expectations: cell.is_bound() || inapplicable.is_some(),
        surprises: super::name::sentence(&words.join("; ")),
    }
}

/// Tone, sign and headline: from exclusion, lease and resource together, then from the others.
fn gist(verdicts: &Verdicts) -> (&'static str, &'static str, &'static str) {
    use Property::{Exclusion, Fencing, Lease, Resource};
    let is = |property, wanted| {
        let verdict = verdicts.get(&property);
        verdict.is_some_and(|verdict| verdict.status == wanted)
    };
    let violated = |property| is(property, Status::Violated);
    let has_tokens = is(Fencing, Status::Held) || violated(Fencing);
    if violated(Exclusion) && is(Lease, Status::Held) {
        return if is(Resource, Status::Held) && has_tokens {
            ("fenced", "◆", "fencing did its work")
        } else {
            let sign = Status::Violated.sign();
            ("client", sign, "client outlived its lease")
        };
    }
    // The lock's main property first, then in reading order.
    let mut properties = [Lease].into_iter().chain(Property::ALL);
    if let Some(property) = properties.find(|property| violated(*property)) {
        let sign = Status::Violated.sign();
        ("lock", sign, describe(property).violated)
    } else if verdicts.is_empty() || verdicts.values().any(|v| v.status == Status::Unknown) {
        ("unknown", Status::Unknown.sign(), "could not be judged")
    } else {
        ("held", Status::Held.sign(), "held")
    }
}

/// Each cause once, those of the most severe violations first.
fn causes(verdicts: &Verdicts) -> String {
    let mut violated: Vec<_> = verdicts
        .iter()
        .filter(|(_, verdict)| verdict.status == Status::Violated)
        .collect();
    violated.sort_by_key(|(property, _)| describe(**property).severity);
    let causes = violated.iter().filter_map(|(_, verdict)| verdict.cause);
    distinct(causes.map(|cause| cause.word())).join(", ")
}

fn flag(cell: &Cell) -> &'static str {
    if cell.is_surprising() {
        "‼ not as expected"
    } else if !cell.is_as_expected() && cell.error.is_none() {
        "? expected, not judged"
    } else {
        ""
    }
}

/// The rate of the property that was violated most often.
fn rate(cell: &Cell) -> Option<String> {
    if cell.runs < 2 || cell.error.is_some() {
        return None;
    }
    let most = cell.tally.values().max_by_key(|tally| tally.violated)?;
    Some(rate_of(most))
}

/// The observed rate, with bounds of the true one.
pub(super) fn rate_of(tally: &Tally) -> String {
    let judged = tally.held + tally.violated;
    match Rate::new(tally.violated, judged) {
        Some(rate) => format!("violated {}", rate.in_words()),
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
