//! One cell of the matrix in short: what came out, whose fault, and how sure.

use picklock_verdicts::check::{Property, Status, Verdicts};
use picklock_verdicts::record::{Cell, Tally};

use super::name::{Name, name};
use crate::matrix::surprise_in_words;
use crate::meaning;
use crate::statistics::Rate;

/// A cell as the matrix shows it.
#[derive(Debug)]
pub(super) struct Tile {
    /// `held`, `client`, `lock`, `fenced`, `unknown` or `failed`: for colour.
    pub(super) tone: &'static str,
    /// For those who do not see colours.
    pub(super) sign: &'static str,
    /// A few words.
    pub(super) headline: &'static str,
    /// The causes of what was violated, the worst first.
    pub(super) causes: String,
    pub(super) letters: Vec<Letter>,
    /// With several runs: how often, and the bound.
    pub(super) rate: Option<String>,
    /// What the reader must not overlook; empty where all came out as expected.
    pub(super) flag: &'static str,
    /// False where the scenario expects nothing of the subject.
    pub(super) has_expectations: bool,
    /// What was expected and what came, for the hover.
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

pub(super) fn letter(property: Property) -> char {
    match property {
        Property::Exclusion => 'E',
        Property::Lease => 'L',
        Property::Resource => 'R',
        Property::Ownership => 'O',
        Property::Fencing => 'F',
        Property::Progress => 'P',
    }
}

pub(super) fn sign(status: Status) -> &'static str {
    match status {
        Status::Held => "✓",
        Status::Violated => "✗",
        Status::Unknown => "?",
        Status::NotApplicable => "–",
    }
}

pub(super) fn tile(cell: &Cell) -> Tile {
    let (tone, sign, headline) = match &cell.error {
        Some(_) => ("failed", "!", "could not be run"),
        None => gist(&cell.verdicts),
    };
    let letters = Property::ALL.into_iter().filter_map(|property| {
        let verdict = cell.verdicts.get(&property)?;
        Some(Letter {
            letter: letter(property),
            sign: self::sign(verdict.status),
            status: verdict.status.word(),
            hover: name(&format!("{property} {}", meaning::of(property, verdict))),
        })
    });
    let surprises = cell.surprises.iter();
    let words: Vec<String> = surprises
        .map(|surprise| surprise_in_words(surprise, cell.runs))
        .collect();
    Tile {
        tone,
        sign,
        headline,
        causes: if cell.error.is_some() {
            String::new()
        } else {
            causes(&cell.verdicts)
        },
        letters: letters.collect(),
        rate: rate(cell),
        flag: flag(cell),
        has_expectations: cell.is_bound(),
        surprises: super::name::sentence(&words.join("; ")),
    }
}

/// Whose fault it was, in a few words: exclusion, lease and resource read together.
fn gist(verdicts: &Verdicts) -> (&'static str, &'static str, &'static str) {
    use Property::{Exclusion, Fencing, Lease, Ownership, Progress, Resource};
    let status = |property| verdicts.get(&property).map(|verdict| verdict.status);
    let is = |property, wanted| status(property) == Some(wanted);
    let violated = |property| is(property, Status::Violated);
    let has_tokens = is(Fencing, Status::Held) || violated(Fencing);
    if violated(Lease) {
        ("lock", "✗", "the lock broke its word")
    } else if violated(Exclusion) && is(Lease, Status::Held) {
        if is(Resource, Status::Held) && has_tokens {
            ("fenced", "◆", "fencing did its work")
        } else {
            ("client", "✗", "client outlived its lease")
        }
    } else if violated(Exclusion) {
        ("lock", "✗", "two inside together")
    } else if violated(Resource) {
        ("lock", "✗", "the stock does not add up")
    } else if violated(Ownership) {
        ("lock", "✗", "gave back another's lock")
    } else if violated(Fencing) {
        ("lock", "✗", "tokens went back")
    } else if violated(Progress) {
        ("lock", "✗", "nobody got in any more")
    } else if verdicts.is_empty() || verdicts.values().any(|v| v.status == Status::Unknown) {
        ("unknown", "?", "could not be judged")
    } else {
        ("held", "✓", "held")
    }
}

/// Each cause once, those of the weightiest properties first.
fn causes(verdicts: &Verdicts) -> String {
    let order = [
        Property::Lease,
        Property::Exclusion,
        Property::Resource,
        Property::Ownership,
        Property::Fencing,
        Property::Progress,
    ];
    let violated = order
        .iter()
        .filter_map(|property| verdicts.get(property))
        .filter(|verdict| verdict.status == Status::Violated);
    let mut causes: Vec<&str> = Vec::new();
    for cause in violated.filter_map(|verdict| verdict.cause) {
        if !causes.contains(&cause.word()) {
            causes.push(cause.word());
        }
    }
    causes.join(", ")
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

/// Of the property that was violated most often.
fn rate(cell: &Cell) -> Option<String> {
    if cell.runs < 2 || cell.error.is_some() {
        return None;
    }
    let most = cell.tally.values().max_by_key(|tally| tally.violated)?;
    Some(rate_of(most))
}

/// How often, and what that says about the true rate.
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
    fn the_gist_tells_whose_fault_it_was() {
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
            ((Violated, Violated, Held, Held), "the lock broke its word"),
            (
                (Violated, Unknown, Held, NotApplicable),
                "two inside together",
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
        assert_eq!(rate(100, 0), "violated 0 of 100 (≤ 3 %)");
        assert_eq!(rate(0, 20), "violated 20 of 20 (≥ 86 %)");
        assert_eq!(rate(0, 0), "never judged");
    }
}
