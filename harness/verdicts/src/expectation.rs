//! The expectations of a scenario, and the verdicts that differ from them.
//!
//! The rules:
//!
//! - `[expect.NAME]` replaces `[expect."*"]` as a whole, not property by property.
//! - `"*"` applies to the built-in locks without options, because the author of a scenario cannot foresee other locks.
//!   [`Tables`] states which tables apply to a lock.
//! - A table covers every property. A property that it does not name gets the value of the table's own `"*"`, or `held`
//!   without one.
//! - A property that does not apply (fencing without tokens) never differs, whatever its expectation is.
//! - An inconclusive property counts neither as held nor as violated.

use std::collections::BTreeMap;

pub use picklock_scenarios::Expectation;
use picklock_scenarios::{OTHERS, Scenario};

use crate::check::{InconclusiveReason, Property, Status, Verdict, Verdicts, machine_was_too_slow};
use crate::record::{Mismatch, RecordedVerdict};

/// Maximum number of reruns of a run that [`Expected::is_spoiled`] calls spoiled.
pub const MAX_RERUNS: u64 = 3;

/// Which `[expect]` tables of a scenario apply to a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tables {
    /// The table with the lock's name or, if there is none, `"*"`. Used for built-in locks without options.
    NamedOrAll,
    /// Only the table with the lock's name. Used for mutants, locks with options, and the user's programs.
    NamedOnly,
}

/// The expectations of one lock under one scenario.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Expected(BTreeMap<Property, Expectation>);

impl Expected {
    /// Returns the scenario's expectations of `lock`. They are empty if no table applies.
    pub fn for_lock(scenario: &Scenario, lock: &str, tables: Tables) -> Expected {
        let named = scenario.expect.get(lock);
        let all = || scenario.expect.get(OTHERS);
        let table = match tables {
            Tables::NamedOrAll => named.or_else(all),
            Tables::NamedOnly => named,
        };
        let Some(table) = table else {
            return Expected::default();
        };
        let others = table.get(OTHERS).unwrap_or(&Expectation::Held);
        let expectation = |property: Property| table.get(property.as_str()).unwrap_or(others);
        let judged = Property::ALL
            .into_iter()
            .filter(|property| scenario.workload.judges(*property));
        Expected(
            judged
                .map(|property| (property, expectation(property).clone()))
                .collect(),
        )
    }

    /// Returns these expectations, overridden by `rules` for the properties that they name.
    #[must_use]
    pub fn overridden(mut self, rules: impl IntoIterator<Item = (Property, Expectation)>) -> Self {
        self.0.extend(rules);
        self
    }

    /// Returns the expectation of one property, or `None` if the property has none.
    pub fn get(&self, property: Property) -> Option<&Expectation> {
        self.0.get(&property)
    }

    /// Returns all expectations, in the order of reports.
    pub fn iter(&self) -> impl Iterator<Item = (Property, &Expectation)> {
        self.0.iter().map(|(property, one)| (*property, one))
    }

    /// Returns the expectations for a lock that is compared with this reference lock: every property that the reference
    /// lock keeps must hold.
    #[must_use]
    pub fn as_reference(self) -> Expected {
        let weaker = |(property, expectation)| match expectation {
            Expectation::Violated { .. } => (property, Expectation::Any { reason: None }),
            held_or_any => (property, held_or_any),
        };
        Expected(self.0.into_iter().map(weaker).collect())
    }

    /// Returns the expectations by property as records keep them, without the reasons of `any`.
    pub fn to_record(&self) -> BTreeMap<Property, Expectation> {
        let without_reason = |expectation: &Expectation| match expectation {
            Expectation::Any { .. } => Expectation::Any { reason: None },
            other => other.clone(),
        };
        let all = self.0.iter();
        all.map(|(property, one)| (*property, without_reason(one)))
            .collect()
    }

    /// Returns the mismatches of one run, in the order of reports.
    pub fn mismatches(&self, verdicts: &Verdicts) -> Vec<Mismatch> {
        let differs = |(property, expectation): (&Property, &Expectation)| {
            let verdict = verdicts.get(property);
            let is_any = matches!(expectation, Expectation::Any { .. });
            if is_any || verdict.is_some_and(|verdict| fits(expectation, verdict)) {
                return None;
            }
            Some(Mismatch {
                property: *property,
                expected: expectation.clone(),
                got: verdict.map_or(Status::Unknown.into(), RecordedVerdict::from),
                runs: 1,
            })
        };
        self.0.iter().filter_map(differs).collect()
    }

    /// Returns `true` if a run should be repeated: the machine was too slow for it, or its only mismatches are
    /// inconclusive properties that may be due to chance. A violation of a property that should hold, or has no
    /// expectation, is proven even if other properties are inconclusive, so such a run is not repeated. A run whose
    /// worker was stopped until it missed its deadline is not repeated either.
    pub fn is_spoiled(&self, verdicts: &Verdicts) -> bool {
        let should_hold = |property| {
            let expected = self.get(property);
            expected.is_none_or(|expectation| *expectation == Expectation::Held)
        };
        let mut violated = verdicts
            .iter()
            .filter(|(_, verdict)| verdict.status == Status::Violated);
        if violated.any(|(property, _)| should_hold(*property)) {
            return false;
        }
        let is_stopped = |reason: &InconclusiveReason| {
            matches!(reason, InconclusiveReason::WorkerStopped { .. })
        };
        // The machine is not responsible for a stall that a worker causes itself.
        if verdicts
            .values()
            .any(|verdict| verdict.reasons.iter().any(is_stopped))
        {
            return false;
        }
        let mismatches = self.mismatches(verdicts);
        let by_chance = |it: &Mismatch| {
            let verdict = verdicts.get(&it.property);
            let lasts =
                |verdict: &Verdict| verdict.reasons.iter().any(InconclusiveReason::is_lasting);
            !it.is_judged() && verdict.is_some_and(|it| !lasts(it))
        };
        machine_was_too_slow(verdicts) || !mismatches.is_empty() && mismatches.iter().all(by_chance)
    }
}

/// Returns `true` if the verdict is the expected one, or the property does not apply.
pub fn fits(expectation: &Expectation, verdict: &Verdict) -> bool {
    match (expectation, verdict.status) {
        (Expectation::Any { .. }, _) | (_, Status::NotApplicable) => true,
        (Expectation::Held, status) => status == Status::Held,
        (Expectation::Violated { cause }, status) => {
            status == Status::Violated && (cause.is_none() || *cause == verdict.cause)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::Cause;

    const TABLES: &str = r#"
name = "mine"
summary = "A scenario."
[expect."*"]
exclusion = "violated: outlived-lease"
fencing = "violated"
"*" = "any: it is luck"
lease = "held"
[expect.fenced]
exclusion = "any: the clock decides"
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

    fn every(verdict: Verdict) -> Verdicts {
        Property::ALL
            .map(|property| (property, verdict.clone()))
            .into()
    }

    fn texts(found: &[Mismatch]) -> Vec<String> {
        let text = |one: &Mismatch| format!("{}: {} -> {}", one.property, one.expected, one.got);
        found.iter().map(text).collect()
    }

    #[test]
    fn named_table_replaces_the_general_one_as_a_whole() {
        let fenced = Expected::for_lock(&scenario(), "fenced", Tables::NamedOrAll);
        let mut verdicts = every(Verdict::held());
        verdicts.insert(Property::Exclusion, violated(Cause::Race));
        assert!(fenced.mismatches(&verdicts).is_empty());
        verdicts.insert(Property::Fencing, violated(Cause::Race));
        assert_eq!(
            texts(&fenced.mismatches(&verdicts)),
            ["fencing: held -> violated: race"]
        );
    }

    #[test]
    fn a_table_speaks_of_every_property() {
        let fenced = Expected::for_lock(&scenario(), "fenced", Tables::NamedOnly).to_record();
        let judged = Property::ALL
            .iter()
            .filter(|it| scenario().workload.judges(**it));
        assert_eq!(fenced.len(), judged.count());
        assert_eq!(fenced[&Property::Exclusion].to_string(), "any");
        assert_eq!(fenced[&Property::Claims].to_string(), "held");
        let others = Expected::for_lock(&scenario(), "redlock", Tables::NamedOrAll).to_record();
        assert_eq!(others[&Property::Claims].to_string(), "any");
        assert_eq!(others[&Property::Fencing].to_string(), "violated");
    }

    #[test]
    fn inapplicable_property_is_never_a_mismatch() {
        let expected = Expected::for_lock(&scenario(), "redlock", Tables::NamedOrAll);
        let found = expected.mismatches(&every(Verdict::not_applicable()));
        assert_eq!(found, []);
    }

    #[test]
    fn rules_override_property_by_property() {
        let rules = [(Property::Lease, Expectation::Violated { cause: None })];
        let fenced = Expected::for_lock(&scenario(), "fenced", Tables::NamedOnly);
        let words = fenced.overridden(rules.clone()).to_record();
        assert_eq!(words[&Property::Lease].to_string(), "violated");
        assert_eq!(words[&Property::Exclusion].to_string(), "any");
        let stranger = Expected::default().overridden(rules).to_record();
        assert_eq!(stranger.len(), 1);
    }

    #[test]
    fn user_lock_is_bound_only_by_a_table_with_its_name() {
        let user_lock = Expected::for_lock(&scenario(), "mine", Tables::NamedOnly);
        assert_eq!(user_lock, Expected::default());
        let known = Expected::for_lock(&scenario(), "mine", Tables::NamedOrAll);
        assert_eq!(known.get(Property::Lease), Some(&Expectation::Held));
        let named = Expected::for_lock(&scenario(), "fenced", Tables::NamedOnly);
        assert_eq!(named.get(Property::Resource), Some(&Expectation::Held));
    }

    #[test]
    fn every_kind_of_mismatch_is_reported() {
        let expected = Expected::for_lock(&scenario(), "redlock", Tables::NamedOrAll);
        let calm = Verdicts::from([
            (Property::Exclusion, Verdict::held()),
            (
                Property::Lease,
                Verdict::unknown(vec![InconclusiveReason::NobodyCompeted]),
            ),
            (Property::Fencing, violated(Cause::Undetermined)),
        ]);
        assert_eq!(
            texts(&expected.mismatches(&calm)),
            [
                "exclusion: violated: outlived-lease -> held",
                "lease: held -> unknown"
            ]
        );
        let other = Verdicts::from([
            (Property::Exclusion, violated(Cause::Race)),
            (Property::Lease, Verdict::held()),
            (Property::Fencing, Verdict::held()),
        ]);
        assert_eq!(
            texts(&expected.mismatches(&other)),
            [
                "exclusion: violated: outlived-lease -> violated: race",
                "fencing: violated -> held"
            ]
        );
    }

    #[test]
    fn expected_verdict_is_not_a_mismatch() {
        let expected = Expected::for_lock(&scenario(), "redlock", Tables::NamedOrAll);
        let as_expected = Verdicts::from([
            (Property::Exclusion, violated(Cause::OutlivedLease)),
            (Property::Lease, Verdict::held()),
            (Property::Resource, violated(Cause::Race)),
            (Property::Fencing, Verdict::not_applicable()),
        ]);
        assert!(expected.mismatches(&as_expected).is_empty());
    }

    #[test]
    fn run_is_repeated_unless_it_proves_a_violation() {
        let by_chance = Verdict::unknown(vec![InconclusiveReason::NobodyCompeted]);
        let too_slow = Verdict::unknown(vec![InconclusiveReason::UnrequestedFailover { node: 0 }]);
        let lasting = Verdict::unknown(vec![InconclusiveReason::EverybodyDied]);
        let stopped = Verdict::unknown(vec![InconclusiveReason::WorkerStopped { worker: 0 }]);
        let race = violated(Cause::Race);
        let nothing = Expected::default();
        let table = Expected::for_lock(&scenario(), "redlock", Tables::NamedOrAll);
        let mut expected = every(Verdict::held());
        expected.insert(Property::Exclusion, violated(Cause::OutlivedLease));
        expected.insert(Property::Fencing, Verdict::not_applicable());
        for (expectations, case, exclusion, lease, is_spoiled) in [
            (&nothing, "as expected", None, None, false),
            (&nothing, "too slow", None, Some(&too_slow), true),
            (
                &nothing,
                "violated as well",
                Some(&race),
                Some(&too_slow),
                false,
            ),
            (&nothing, "chance", None, Some(&by_chance), false),
            (&table, "as expected", None, None, false),
            (&table, "chance", None, Some(&by_chance), true),
            (&table, "no chance", None, Some(&lasting), false),
            (&table, "too slow", None, Some(&too_slow), true),
            (
                &table,
                "stopped itself",
                Some(&stopped),
                Some(&too_slow),
                false,
            ),
            (&table, "another cause", Some(&race), Some(&too_slow), true),
            (&table, "another cause alone", Some(&race), None, false),
            (&table, "violated", Some(&too_slow), Some(&race), false),
        ] {
            let mut verdicts = if expectations == &nothing {
                every(Verdict::held())
            } else {
                expected.clone()
            };
            let overrides = [(Property::Exclusion, exclusion), (Property::Lease, lease)];
            for (property, verdict) in overrides {
                verdicts.extend(verdict.map(|verdict| (property, verdict.clone())));
            }
            assert_eq!(expectations.is_spoiled(&verdicts), is_spoiled, "{case}");
        }
    }

    #[test]
    fn reference_requires_only_properties_that_its_lock_keeps() {
        let reference =
            Expected::for_lock(&scenario(), "redlock", Tables::NamedOrAll).as_reference();
        let held = reference.get(Property::Lease);
        let violated_there = reference.get(Property::Exclusion);
        let any = Expectation::Any { reason: None };
        assert_eq!(
            (held, violated_there),
            (Some(&Expectation::Held), Some(&any))
        );
        let mut verdicts = Verdicts::from([
            (Property::Exclusion, Verdict::held()),
            (Property::Lease, Verdict::held()),
            (Property::Fencing, Verdict::not_applicable()),
        ]);
        assert!(reference.mismatches(&verdicts).is_empty());
        verdicts.insert(Property::Lease, violated(Cause::Race));
        assert_eq!(
            texts(&reference.mismatches(&verdicts)),
            ["lease: held -> violated: race"]
        );
    }

    #[test]
    fn missing_verdict_is_unknown() {
        let expected = Expected::for_lock(&scenario(), "redlock", Tables::NamedOrAll);
        assert_eq!(expected.mismatches(&Verdicts::new()).len(), 3);
    }
}
