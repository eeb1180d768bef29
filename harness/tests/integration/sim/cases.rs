//! Regression cases: scenarios that once got a wrong verdict. They must pass with any seed.

use picklock_harness::Trial;
use picklock_harness::check::{Cause, Property, Status, Verdict};
use picklock_harness::sim::LockFactory;
use picklock_impls::find;

/// Runs a case with a built-in lock, and returns its verdict on a property for each seed.
fn judged(text: &str, lock: &str, property: Property) -> Vec<Verdict> {
    let trial = Trial::from_toml(text).unwrap().seeds(0..20);
    let outcome = trial.run_lock(&LockFactory::built_in(find(lock).unwrap()));
    let outcome = outcome.unwrap();
    let verdicts = outcome
        .runs()
        .iter()
        .map(|run| run.verdicts[&property].clone());
    verdicts.collect()
}

fn assert_verdicts(text: &str, lock: &str, property: Property, expected: (Status, Option<Cause>)) {
    for (seed, verdict) in judged(text, lock, property).into_iter().enumerate() {
        let actual = (verdict.status, verdict.cause);
        let story = verdict.story.join("\n");
        assert_eq!(
            actual, expected,
            "{lock}, {property}, seed {seed}:\n{story}"
        );
    }
}

const HELD: (Status, Option<Cause>) = (Status::Held, None);

/// The successor finds no stock and leaves, which takes no time in the simulation.
#[test]
fn successor_with_an_instant_section_overlaps() {
    let text = include_str!("../../../../tests/e2e/cases/zero-hold.toml");
    for lock in ["set-nx-px", "redlock", "setnx-lua"] {
        let outlived = (Status::Violated, Some(Cause::OutlivedLease));
        assert_verdicts(text, lock, Property::Exclusion, outlived);
        assert_verdicts(text, lock, Property::Lease, HELD);
    }
}

/// The counter is flushed together with the lock, so the second holder gets the same token as the first.
#[test]
fn holders_with_the_same_token_are_not_fenced() {
    let evicted = (Status::Violated, Some(Cause::Evicted));
    let text = include_str!("../../../../tests/e2e/cases/fence-dup.toml");
    assert_verdicts(text, "fenced", Property::Fencing, evicted);
    assert_verdicts(text, "fenced", Property::Resource, HELD);
    // The resource cannot distinguish the two holders, so it accepts the writes of both.
    let text = include_str!("../../../../tests/e2e/cases/fence-dup-write.toml");
    assert_verdicts(text, "fenced", Property::Fencing, evicted);
    assert_verdicts(text, "fenced", Property::Resource, evicted);
}

/// The lock's only node is permanently dead.
#[test]
fn progress_is_unknown_if_the_only_node_is_dead() {
    let text = include_str!("../../../../tests/e2e/cases/dead-node.toml");
    assert_verdicts(
        text,
        "set-nx-px",
        Property::Progress,
        (Status::Unknown, None),
    );
    assert_verdicts(text, "set-nx-px", Property::Exclusion, HELD);
}
