//! Scenarios that once came out wrong, with what must come out. Any seed will do.

use picklock_harness::Trial;
use picklock_harness::check::{Cause, Property, Status, Verdict};
use picklock_harness::sim::LockFactory;
use picklock_impls::find;

/// Runs a case with a built-in lock, and returns its verdicts on a property, one for each seed.
fn judged(text: &str, lock: &str, property: Property) -> Vec<Verdict> {
    let trial = Trial::from_toml(text).unwrap().seeds(0..20);
    let ran = trial.run_lock(&LockFactory::built_in(find(lock).unwrap()));
    let ran = ran.unwrap();
    let verdicts = ran.runs().iter().map(|run| run.verdicts[&property].clone());
    verdicts.collect()
}

fn must_be(text: &str, lock: &str, property: Property, expected: (Status, Option<Cause>)) {
    for (seed, verdict) in judged(text, lock, property).into_iter().enumerate() {
        let came_out = (verdict.status, verdict.cause);
        let story = verdict.story.join("\n");
        assert_eq!(
            came_out, expected,
            "{lock}, {property}, seed {seed}:\n{story}"
        );
    }
}

const HELD: (Status, Option<Cause>) = (Status::Held, None);

/// The successor finds nothing left, and goes. In the simulation that takes it no time.
#[test]
fn a_successor_that_needs_no_time_was_inside() {
    let text = include_str!("../../../../tests/e2e/cases/zero-hold.toml");
    for lock in ["set-nx-px", "redlock", "setnx-lua"] {
        let outlived = (Status::Violated, Some(Cause::OutlivedLease));
        must_be(text, lock, Property::Exclusion, outlived);
        must_be(text, lock, Property::Lease, HELD);
    }
}

/// The counter is flushed with the lock, so the second holder gets the token of the first one.
#[test]
fn two_holders_with_one_token_are_not_fenced() {
    let evicted = (Status::Violated, Some(Cause::Evicted));
    let text = include_str!("../../../../tests/e2e/cases/fence-dup.toml");
    must_be(text, "fenced", Property::Fencing, evicted);
    must_be(text, "fenced", Property::Resource, HELD);
    // The resource cannot tell one holder from the other, so it lets both of them write.
    let text = include_str!("../../../../tests/e2e/cases/fence-dup-write.toml");
    must_be(text, "fenced", Property::Fencing, evicted);
    must_be(text, "fenced", Property::Resource, evicted);
}

/// What the lock needs is gone for good.
#[test]
fn a_lock_whose_only_node_is_dead_is_not_judged_by_its_progress() {
    let text = include_str!("../../../../tests/e2e/cases/dead-node.toml");
    must_be(
        text,
        "set-nx-px",
        Property::Progress,
        (Status::Unknown, None),
    );
    must_be(text, "set-nx-px", Property::Exclusion, HELD);
}
