//! What a search takes for a find, and how finds are told apart: those of one process, and those of its shards.

use std::cmp::Ordering;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use picklock_scenarios::{Cause, Property};

use crate::check::{Status, Verdicts};
use crate::record::Unshrunk;

/// A violated property, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Violation {
    /// The property.
    pub property: Property,
    /// The cause.
    pub cause: Cause,
}

/// Which violations are finds.
#[derive(Debug, Clone, Default)]
pub struct ViolationFilter {
    /// Of these properties. Empty: of all.
    pub properties: Vec<Property>,
    /// Also those of `exclusion` by a client that outlives its lease, which no lock with a lease can prevent.
    pub outlived_lease: bool,
}

impl ViolationFilter {
    /// True if violations of this property can be finds.
    pub fn counts(&self, property: Property) -> bool {
        self.properties.is_empty() || self.properties.contains(&property)
    }

    /// The finds among the verdicts.
    pub fn among(&self, verdicts: &Verdicts) -> Vec<Violation> {
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

/// The place of a plan in the order of a search: how many faults it has, and its number among those with as many.
pub type Place = (usize, Vec<u64>);

/// So many shapes of one violation are asked whether they are steady.
const MAX_ASKED: usize = 24;

/// The most shapes of one violation that a search shrinks.
pub const MAX_SIGNATURES: usize = 3;

/// Plans that have the same violation in the same shape.
#[derive(Debug, Clone)]
pub struct CounterexampleGroup<P> {
    /// What is violated.
    pub violation: Violation,
    /// The shape of the plan.
    pub signature: Vec<String>,
    /// The first of them.
    pub plan: P,
    /// Its place in the order of the search.
    pub place: Place,
    /// How many there are.
    pub count: u64,
    /// Its plan was seen to have the violation with other latencies, too.
    pub robust: bool,
    /// What it was shrunk from; empty: it was not.
    pub unshrunk: Vec<Unshrunk>,
}

impl<P> CounterexampleGroup<P> {
    /// As it is now, to be remembered while it is shrunk.
    pub fn unshrunk(&self) -> Unshrunk {
        Unshrunk {
            signature: self.signature.clone(),
            place: self.place.1.clone(),
            robust: self.robust,
            schedules: self.count,
        }
    }

    /// The number of its first plan among those with as many faults, counted from 1.
    pub fn number(&self) -> u64 {
        self.place.1.first().map_or(1, |number| number + 1)
    }
}

/// All finds of a search, by violation and shape.
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
    /// Takes over what another part of the search has found.
    pub fn append(&mut self, other: Counterexamples<P>) {
        let groups = other.groups.into_values();
        groups.for_each(|one| self.add(one));
    }

    /// Adds plans. Of one violation and shape the first plan stays; a steady one comes before those that are not.
    pub fn add(&mut self, new: CounterexampleGroup<P>) {
        match self.groups.entry((new.violation, new.signature.clone())) {
            Entry::Vacant(free) => drop(free.insert(new)),
            Entry::Occupied(mut old) => {
                let old = old.get_mut();
                old.count += new.count;
                old.unshrunk.extend(new.unshrunk);
                if (!new.robust, &new.place) < (!old.robust, &old.place) {
                    (old.plan, old.place, old.robust) = (new.plan, new.place, new.robust);
                }
            }
        }
    }

    /// The violations that were found.
    pub fn violations(&self) -> BTreeSet<Violation> {
        let groups = self.groups.keys();
        groups.map(|(violation, _)| *violation).collect()
    }

    /// The violation of the simplest plan that was found.
    pub fn simplest_violation(&self) -> Option<Violation> {
        let groups = self.groups.values();
        let first = groups.min_by_key(|one| (one.signature.len(), &one.place));
        first.map(|one| one.violation)
    }

    /// Asks which groups are steady, the simplest first, until one of each violation is or enough were asked.
    pub fn mark_robust(&mut self, is_robust: impl Fn(&CounterexampleGroup<P>) -> bool) {
        let mut groups: Vec<&mut CounterexampleGroup<P>> = self.groups.values_mut().collect();
        groups.sort_by(|a, b| simpler(a, b));
        let mut left: BTreeMap<Violation, usize> = BTreeMap::new();
        for group in groups {
            let left = left.entry(group.violation).or_insert(MAX_ASKED);
            if *left > 0 {
                group.robust = is_robust(group);
                *left = if group.robust { 0 } else { *left - 1 };
            }
        }
    }

    /// The groups in the order of the search, without those that another one explains: the same violation, with
    /// some of the same faults, and as steady. That one counts theirs as its own.
    pub fn simplest(self) -> Vec<CounterexampleGroup<P>> {
        let mut groups: Vec<CounterexampleGroup<P>> = self.groups.into_values().collect();
        groups.sort_by(simpler);
        let mut simplest: Vec<CounterexampleGroup<P>> = Vec::new();
        for group in groups {
            let explains = |old: &&mut CounterexampleGroup<P>| {
                old.violation == group.violation
                    && is_part(&old.signature, &group.signature)
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

/// The first shapes of each violation, and the steady one. The first one counts what the rest have.
pub fn worth_shrinking<P>(
    groups: Vec<CounterexampleGroup<P>>,
    most: usize,
) -> Vec<CounterexampleGroup<P>> {
    let mut worth: Vec<CounterexampleGroup<P>> = Vec::new();
    for group in groups {
        let like = worth.iter().filter(|one| one.violation == group.violation);
        if like.count() < most || group.robust {
            worth.push(group);
            continue;
        }
        let mut like = worth.iter_mut();
        if let Some(first) = like.find(|one| one.violation == group.violation) {
            first.count += group.count;
        }
    }
    worth
}

/// The order of a search: what has fewer faults, then what came first.
fn simpler<P>(a: &CounterexampleGroup<P>, b: &CounterexampleGroup<P>) -> Ordering {
    let key =
        |one: &CounterexampleGroup<P>| (one.signature.len(), one.place.clone(), one.violation);
    key(a).cmp(&key(b))
}

/// True if every word of the first is in the second, as often. Both are sorted.
fn is_part(some: &[String], all: &[String]) -> bool {
    let mut all = all.iter();
    some.iter().all(|word| all.any(|other| other == word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shape_is_part_of_another_if_that_has_each_word_as_often() {
        let words = |text: &str| -> Vec<String> { text.split(' ').map(str::to_owned).collect() };
        assert!(is_part(&[], &words("a")));
        assert!(is_part(&words("a c"), &words("a b c")));
        assert!(!is_part(&words("a a"), &words("a b")));
        assert!(!is_part(&words("d"), &words("a b c")));
    }
}
