//! What a scenario expects of a lock, and which verdicts differ from it.
//!
//! The rules:
//!
//! - `[expect.NAME]` replaces `[expect."*"]` as a whole, not property by property.
//! - `"*"` applies to the locks that the scenario's author could know: the built-in locks
//!   without options. [`Tables`] says which tables apply to a lock.
//! - Nothing is expected of a property that is not mentioned.
//! - A property that does not apply (fencing without tokens) counts as held.
//! - A property that could not be judged counts neither as held nor as violated.

use std::collections::BTreeMap;

pub use picklock_scenarios::Expectation;
use picklock_scenarios::Scenario;

use crate::check::{Cause, Property, Status, Verdict, Verdicts};
use crate::record::Surprise;

/// Which `[expect]` tables of a scenario apply to a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tables {
    /// The table with its name, else `"*"`: for built-in locks without options.
    NamedOrAll,
    /// Only the table with its name: for mutants, locks with options, and programs of the user.
    NamedOnly,
}

/// What is expected of one lock under one scenario.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Expected(BTreeMap<Property, Expectation>);

impl Expected {
    /// What the scenario expects of `lock`; nothing if no table applies.
    pub fn of(scenario: &Scenario, lock: &str, tables: Tables) -> Expected {
        let named = scenario.expect.get(lock);
        let all = || scenario.expect.get("*");
        let table = match tables {
            Tables::NamedOrAll => named.or_else(all),
            Tables::NamedOnly => named,
        };
        let expectation = |property: Property| {
            let expectation = table?.get(property.word())?;
            Some((property, expectation.clone()))
        };
        Expected(Property::ALL.into_iter().filter_map(expectation).collect())
    }

    /// What is expected of one property; `None`: nothing.
    pub fn get(&self, property: Property) -> Option<&Expectation> {
        self.0.get(&property)
    }

    /// True if no verdict can differ.
    pub fn is_open(&self) -> bool {
        self.0.values().all(|one| *one == Expectation::Any)
    }

    /// What a lock must do that is held to the one of these expectations: keep what that one keeps.
    #[must_use]
    pub fn as_standard(self) -> Expected {
        let weaker = |(property, expectation)| match expectation {
            Expectation::Held => (property, Expectation::Held),
            Expectation::Any | Expectation::Violated { .. } => (property, Expectation::Any),
        };
        Expected(self.0.into_iter().map(weaker).collect())
    }

    /// In the words of scenario files, by property.
    pub fn in_words(&self) -> BTreeMap<Property, String> {
        let words = |(property, one): (&Property, &Expectation)| (*property, one.clone().into());
        self.0.iter().map(words).collect()
    }

    /// The verdicts of one run that differ, in the order of reports.
    pub fn surprises(&self, verdicts: &Verdicts) -> Vec<Surprise> {
        let differs = |(property, expectation): (&Property, &Expectation)| {
            let verdict = verdicts.get(property);
            if verdict.is_some_and(|verdict| fits(expectation, verdict)) {
                return None;
            }
            if *expectation == Expectation::Any {
                return None;
            }
            Some(Surprise {
                property: *property,
                expected: expectation.clone().into(),
                got: verdict.map_or_else(|| Status::Unknown.word().to_owned(), in_words),
                runs: 1,
            })
        };
        self.0.iter().filter_map(differs).collect()
    }
}

/// True when the verdict is what was expected.
pub fn fits(expectation: &Expectation, verdict: &Verdict) -> bool {
    match expectation {
        Expectation::Any => true,
        Expectation::Held => matches!(verdict.status, Status::Held | Status::NotApplicable),
        Expectation::Violated { cause } => {
            let came_out = verdict.cause.map(Cause::word);
            verdict.status == Status::Violated && (cause.is_none() || cause.as_deref() == came_out)
        }
    }
}

/// A verdict in the words of expectations: `held`, `violated: race`, `unknown`.
pub fn in_words(verdict: &Verdict) -> String {
    match (verdict.status, verdict.cause) {
        (Status::Violated, Some(cause)) => format!("{}: {cause}", Status::Violated),
        (status, _) => status.word().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLES: &str = r#"
name = "mine"
summary = "A scenario."
[expect."*"]
exclusion = "violated: outlived-lease"
lease = "held"
fencing = "held"
[expect.fenced]
resource = "held"
exclusion = "any"
"#;

    fn scenario() -> Scenario {
        Scenario::parse(TABLES, "mine.toml").unwrap()
    }

    fn violated(cause: Cause) -> Verdict {
        Verdict {
            status: Status::Violated,
            cause: Some(cause),
            ..Verdict::held()
        }
    }

    fn words(found: &[Surprise]) -> Vec<String> {
        let words = |one: &Surprise| format!("{}: {} -> {}", one.property, one.expected, one.got);
        found.iter().map(words).collect()
    }

    #[test]
    fn a_table_of_ones_own_replaces_that_of_everybody_whole() {
        let fenced = Expected::of(&scenario(), "fenced", Tables::NamedOrAll);
        assert_eq!(fenced.get(Property::Lease), None);
        assert_eq!(fenced.get(Property::Resource), Some(&Expectation::Held));
        let verdicts = Verdicts::from([
            (Property::Exclusion, violated(Cause::Race)),
            (Property::Lease, violated(Cause::Race)),
            (Property::Resource, Verdict::held()),
        ]);
        assert!(fenced.surprises(&verdicts).is_empty());
    }

    #[test]
    fn strangers_are_bound_by_their_name_only() {
        assert!(Expected::of(&scenario(), "mine", Tables::NamedOnly).is_open());
        assert!(!Expected::of(&scenario(), "mine", Tables::NamedOrAll).is_open());
        let named = Expected::of(&scenario(), "fenced", Tables::NamedOnly);
        assert_eq!(named.get(Property::Resource), Some(&Expectation::Held));
    }

    #[test]
    fn every_way_to_differ_is_named() {
        let expected = Expected::of(&scenario(), "redlock", Tables::NamedOrAll);
        let calm = Verdicts::from([
            (Property::Exclusion, Verdict::held()),
            (
                Property::Lease,
                Verdict::unknown(vec![crate::check::Unjudged::NobodyCompeted]),
            ),
            (Property::Fencing, Verdict::not_applicable()),
        ]);
        assert_eq!(
            words(&expected.surprises(&calm)),
            [
                "exclusion: violated: outlived-lease -> held",
                "lease: held -> unknown"
            ]
        );
        let other = Verdicts::from([
            (Property::Exclusion, violated(Cause::Race)),
            (Property::Lease, Verdict::held()),
            (Property::Fencing, violated(Cause::Undetermined)),
        ]);
        assert_eq!(
            words(&expected.surprises(&other)),
            [
                "exclusion: violated: outlived-lease -> violated: race",
                "fencing: held -> violated: undetermined"
            ]
        );
    }

    #[test]
    fn what_is_expected_is_no_surprise() {
        let expected = Expected::of(&scenario(), "redlock", Tables::NamedOrAll);
        let as_expected = Verdicts::from([
            (Property::Exclusion, violated(Cause::OutlivedLease)),
            (Property::Lease, Verdict::held()),
            (Property::Resource, violated(Cause::Race)),
            (Property::Fencing, Verdict::not_applicable()),
        ]);
        assert!(expected.surprises(&as_expected).is_empty());
    }

    #[test]
    fn a_standard_is_only_what_its_lock_keeps() {
        let standard = Expected::of(&scenario(), "redlock", Tables::NamedOrAll).as_standard();
        let kept = standard.get(Property::Lease);
        let broken = standard.get(Property::Exclusion);
        assert_eq!(
            (kept, broken),
            (Some(&Expectation::Held), Some(&Expectation::Any))
        );
        let mut verdicts = Verdicts::from([
            (Property::Exclusion, Verdict::held()),
            (Property::Lease, Verdict::held()),
            (Property::Fencing, Verdict::not_applicable()),
        ]);
        assert!(standard.surprises(&verdicts).is_empty());
        verdicts.insert(Property::Lease, violated(Cause::Race));
        assert_eq!(
            words(&standard.surprises(&verdicts)),
            ["lease: held -> violated: race"]
        );
    }

    #[test]
    fn a_verdict_that_is_missing_is_unknown() {
        let expected = Expected::of(&scenario(), "redlock", Tables::NamedOrAll);
        assert_eq!(expected.surprises(&Verdicts::new()).len(), 3);
    }
}
