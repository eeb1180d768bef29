//! Decides which violations are counterexamples, and groups them, for a whole search and for its shards.

use std::cmp::Ordering;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use picklock_scenarios::{Cause, Property, Responsible};

use crate::check::{Status, Verdicts};
use crate::record::Unshrunk;

/// A violated property and its cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Violation {
    /// The violated property.
    pub property: Property,
    /// The cause of the violation.
    pub cause: Cause,
}

/// Selects the violations that are counterexamples.
#[derive(Debug, Clone, Default)]
pub struct ViolationFilter {
    /// The properties whose violations count. If this is empty, all properties count.
    pub properties: Vec<Property>,
    /// Whether only violations count for which the lock itself is responsible. The other violations are then counted
    /// separately. Every lock on such servers shows them, because their cause is a client that outlives its lease, or
    /// Redis.
    pub own_only: bool,
    /// Whether `exclusion` violations by a client that outlives its lease count. No lock with a lease can prevent
    /// them.
    pub outlived_lease: bool,
}

impl ViolationFilter {
    /// Returns `true` if violations of this property can be counterexamples.
    pub fn counts(&self, property: Property) -> bool {
        self.properties.is_empty() || self.properties.contains(&property)
    }

    /// Returns the violations among the verdicts that are counterexamples.
    pub fn among(&self, verdicts: &Verdicts) -> Vec<Violation> {
        let mut violations = self.all(verdicts);
        violations.retain(|violation| !self.own_only || is_own(violation.cause));
        violations
    }

    /// Returns the violations among the verdicts that do not count because every lock on such servers shows them.
    pub fn unavoidable(&self, verdicts: &Verdicts) -> Vec<Violation> {
        let mut violations = self.all(verdicts);
        violations.retain(|violation| self.own_only && !is_own(violation.cause));
        violations
    }

    fn all(&self, verdicts: &Verdicts) -> Vec<Violation> {
        let violated = verdicts.iter().filter_map(|(&property, verdict)| {
            let cause = verdict.cause.unwrap_or(Cause::Undetermined);
            let outlived = (property, cause) == (Property::Exclusion, Cause::OutlivedLease);
            let is_counterexample = verdict.status == Status::Violated
                && self.counts(property)
                && (self.outlived_lease || !outlived);
            is_counterexample.then_some(Violation { property, cause })
        });
        violated.collect()
    }
}

/// Returns `true` if the lock itself is responsible for a violation with this cause, as far as the history shows.
fn is_own(cause: Cause) -> bool {
    matches!(
        cause.responsible(),
        Responsible::Lock | Responsible::Undetermined
    )
}

/// Position of a plan in the order of a search: its number of faults, and its position among plans with that number.
pub type Place = (usize, Vec<u64>);

/// Maximum number of signatures per violation that are tested for robustness.
const MAX_TESTED: usize = 24;

/// Number of signatures per violation that a search shrinks, besides robust ones beyond this number.
pub const MAX_SIGNATURES: usize = 3;

/// The plans with the same violation and the same signature.
#[derive(Debug, Clone)]
pub struct CounterexampleGroup<P> {
    /// The violation.
    pub violation: Violation,
    /// The signature of the plans.
    pub signature: Vec<String>,
    /// The first plan.
    pub plan: P,
    /// Position of the first plan in the order of the search.
    pub place: Place,
    /// Number of plans.
    pub count: u64,
    /// Whether the plan showed the violation with other latencies as well.
    pub robust: bool,
    /// The groups from which it was shrunk. Empty if it was not shrunk.
    pub unshrunk: Vec<Unshrunk>,
    /// Descriptions of the faults that shrinking removed from the first plan.
    pub not_needed: Vec<String>,
}

impl<P> CounterexampleGroup<P> {
    /// Returns the group's current state, to be saved while the group is shrunk.
    pub fn unshrunk(&self) -> Unshrunk {
        Unshrunk {
            signature: self.signature.clone(),
            place: self.place.1.clone(),
            robust: self.robust,
            schedules: self.count,
        }
    }

    /// Returns the number of the first plan among plans with as many faults, counted from 1.
    pub fn number(&self) -> u64 {
        self.place.1.first().map_or(1, |number| number + 1)
    }
}

/// The counterexamples of a search, by violation and signature.
#[derive(Debug, Clone)]
pub struct Counterexamples<P> {
    groups: BTreeMap<(Violation, Vec<String>), CounterexampleGroup<P>>,
}

impl<P> Default for Counterexamples<P> {
    fn default() -> Self {
        let groups = BTreeMap::new();
        Counterexamples { groups }
    }
}

impl<P> Counterexamples<P> {
    /// Adds the counterexamples of another part of the search.
    pub fn append(&mut self, other: Counterexamples<P>) {
        let groups = other.groups.into_values();
        groups.for_each(|group| self.add(group));
    }

    /// Adds a group. If a group with the same violation and signature exists, the earlier plan represents both, but a
    /// robust plan takes precedence over a plan that is not robust.
    pub fn add(&mut self, new: CounterexampleGroup<P>) {
        match self.groups.entry((new.violation, new.signature.clone())) {
            Entry::Vacant(free) => drop(free.insert(new)),
            Entry::Occupied(mut old) => {
                let old = old.get_mut();
                old.count += new.count;
                old.unshrunk.extend(new.unshrunk);
                if (!new.robust, &new.place) < (!old.robust, &old.place) {
                    (old.plan, old.place, old.robust) = (new.plan, new.place, new.robust);
                    old.not_needed = new.not_needed;
                }
            }
        }
    }

    /// Records each group as its own origin. A shard then lists every signature, whether it shrinks it or not, so that
    /// a merge counts each signature in the same group as a single process would.
    pub fn record_origins(&mut self) {
        for group in self.groups.values_mut() {
            group.unshrunk = vec![group.unshrunk()];
        }
    }

    /// Returns the violations that were found.
    pub fn violations(&self) -> BTreeSet<Violation> {
        let groups = self.groups.keys();
        groups.map(|(violation, _)| *violation).collect()
    }

    /// Returns the violation of the simplest plan that was found, or `None` if no plan was found.
    pub fn simplest_violation(&self) -> Option<Violation> {
        let groups = self.groups.values();
        let first = groups.min_by_key(|group| (group.signature.len(), &group.place));
        first.map(|group| group.violation)
    }

    /// Tests groups for robustness with `is_robust`, simplest first. Stops for a violation once one of its groups is
    /// robust, or after `MAX_TESTED` groups.
    pub fn mark_robust(&mut self, is_robust: impl Fn(&CounterexampleGroup<P>) -> bool) {
        let mut groups: Vec<&mut CounterexampleGroup<P>> = self.groups.values_mut().collect();
        groups.sort_by(|a, b| simpler(a, b));
        let mut left: BTreeMap<Violation, usize> = BTreeMap::new();
        for group in groups {
            let tests_left = left.entry(group.violation).or_insert(MAX_TESTED);
            if *tests_left > 0 {
                group.robust = is_robust(group);
                *tests_left = if group.robust { 0 } else { *tests_left - 1 };
            }
        }
    }

    /// Returns the groups in the order of the search, without those that another group explains. A group explains
    /// another group if it has the same violation and a subset of the faults, and is at least as robust. Its count then
    /// includes the other group's plans.
    pub fn simplest(self) -> Vec<CounterexampleGroup<P>> {
        let mut groups: Vec<CounterexampleGroup<P>> = self.groups.into_values().collect();
        groups.sort_by(simpler);
        let mut simplest: Vec<CounterexampleGroup<P>> = Vec::new();
        for group in groups {
            let explains = |old: &&mut CounterexampleGroup<P>| {
                old.violation == group.violation
                    && is_subset(&old.signature, &group.signature)
                    && (old.robust || !group.robust)
            };
            match simplest.iter_mut().find(explains) {
                Some(old) => {
                    old.count += group.count;
                    old.unshrunk.extend(group.unshrunk);
                }
                None => simplest.push(group),
            }
        }
        simplest
    }
}

/// Returns the first `max` groups of each violation, and all robust groups. The first group's count includes the plans
/// of the omitted groups.
pub fn worth_shrinking<P>(
    groups: Vec<CounterexampleGroup<P>>,
    max: usize,
) -> Vec<CounterexampleGroup<P>> {
    let mut worth: Vec<CounterexampleGroup<P>> = Vec::new();
    for group in groups {
        let like = worth
            .iter()
            .filter(|other| other.violation == group.violation);
        if like.count() < max || group.robust {
            worth.push(group);
            continue;
        }
        let mut like = worth.iter_mut();
        if let Some(first) = like.find(|other| other.violation == group.violation) {
            first.count += group.count;
            first.unshrunk.extend(group.unshrunk);
        }
    }
    worth
}

/// Compares by the order of a search: fewer faults first, then earlier plans.
fn simpler<P>(a: &CounterexampleGroup<P>, b: &CounterexampleGroup<P>) -> Ordering {
    let key = |group: &CounterexampleGroup<P>| {
        (group.signature.len(), group.place.clone(), group.violation)
    };
    key(a).cmp(&key(b))
}

/// Returns `true` if `all` contains every word of `some`, with the same multiplicity. The two lists must be sorted.
fn is_subset(some: &[String], all: &[String]) -> bool {
    let mut all = all.iter();
    some.iter().all(|word| all.any(|other| other == word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn violations_of_every_lock_are_counted_separately() {
        use crate::check::Verdict;

        let violated = |cause| Verdict {
            status: Status::Violated,
            cause: Some(cause),
            ..Verdict::held()
        };
        let verdicts = Verdicts::from([
            (Property::Lease, violated(Cause::Evicted)),
            (Property::Resource, violated(Cause::OutlivedLease)),
            (Property::Ownership, violated(Cause::StolenRelease)),
        ]);
        let everything = ViolationFilter::default();
        assert_eq!(everything.among(&verdicts).len(), 3);
        assert!(everything.unavoidable(&verdicts).is_empty());
        let own = ViolationFilter {
            own_only: true,
            ..everything
        };
        let causes = |found: Vec<Violation>| {
            found
                .into_iter()
                .map(|violation| violation.cause)
                .collect::<Vec<_>>()
        };
        assert_eq!(causes(own.among(&verdicts)), [Cause::StolenRelease]);
        assert_eq!(
            causes(own.unavoidable(&verdicts)),
            [Cause::Evicted, Cause::OutlivedLease]
        );
    }

    #[test]
    fn explained_and_omitted_groups_stay_among_the_origins() {
        let group = |signature: &str, place: u64, count: u64| CounterexampleGroup {
            violation: Violation {
                property: Property::Lease,
                cause: Cause::StolenRelease,
            },
            signature: signature.split(' ').map(str::to_owned).collect(),
            plan: (),
            place: (1, vec![place]),
            count,
            robust: false,
            unshrunk: Vec::new(),
            not_needed: Vec::new(),
        };
        let mut found = Counterexamples::default();
        for one in [
            group("cut", 1, 5),
            group("cut delay", 2, 7),
            group("drop", 3, 11),
        ] {
            found.add(one);
        }
        found.record_origins();
        let worth = worth_shrinking(found.simplest(), 1);
        let [first] = worth.as_slice() else {
            panic!("{worth:?}");
        };
        assert_eq!(first.count, 23);
        let origins: Vec<(String, u64)> = (first.unshrunk.iter())
            .map(|origin| (origin.signature.join(" "), origin.schedules))
            .collect();
        let expected = [("cut", 5), ("cut delay", 7), ("drop", 11)];
        assert_eq!(
            origins,
            expected.map(|(name, count)| (name.to_owned(), count))
        );
    }

    #[test]
    fn signature_is_a_subset_with_multiplicity() {
        let words = |text: &str| -> Vec<String> { text.split(' ').map(str::to_owned).collect() };
        assert!(is_subset(&[], &words("a")));
        assert!(is_subset(&words("a c"), &words("a b c")));
        assert!(!is_subset(&words("a a"), &words("a b")));
        assert!(!is_subset(&words("d"), &words("a b c")));
    }
}
