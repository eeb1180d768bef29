//! Groups the counterexamples of a search: one group for each story, those by the fault of the lock first.

use std::cmp::Reverse;

use picklock_verdicts::record::Counterexample;

use crate::responsibility::Party;

/// Returns the counterexamples in groups with the same cause and the same faults, which share a story. The lock's own
/// faults come first; groups of one party stay in the order in which they were found.
pub fn by_story(counterexamples: &[Counterexample]) -> Vec<(Party, Vec<&Counterexample>)> {
    let mut groups: Vec<(Party, Vec<&Counterexample>)> = Vec::new();
    for one in counterexamples {
        let is_same = |(_, group): &&mut (Party, Vec<&Counterexample>)| {
            group
                .first()
                .is_some_and(|it| (it.cause, &it.faults) == (one.cause, &one.faults))
        };
        match groups.iter_mut().find(is_same) {
            Some((_, group)) => group.push(one),
            None => groups.push((Party::from_cause(one.cause), vec![one])),
        }
    }
    groups.sort_by_key(|(party, _)| Reverse(*party));
    groups
}
