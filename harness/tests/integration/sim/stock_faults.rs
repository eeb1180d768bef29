//! What a right lock does not prevent: writes, commits and readings that go wrong outside of it.

use picklock_harness::Trial;
use picklock_harness::check::{Cause, Property, Responsible};
use picklock_harness::sim::LockFactory;
use picklock_impls::{LOCKS, MUTANTS, find};
use picklock_scenarios::{StockPlace, catalog};

const SCENARIOS: [(&str, Cause); 4] = [
    ("late-write", Cause::LateWrite),
    ("late-commit", Cause::ReleasedBeforeCommit),
    ("unchecked-write", Cause::UncheckedWrite),
    ("stale-read", Cause::StaleRead),
];

/// The catalog keeps the stock in the driver.
#[test]
fn stock_in_redis_is_spoilt_by_the_same_cause() {
    for (name, cause) in SCENARIOS {
        let mut scenario = catalog::named(name).unwrap();
        scenario.workload.stock_in = StockPlace::Redis;
        let trial = Trial::from_scenario(scenario).seeds(0..5);
        let ran = trial.run_lock(&LockFactory::built_in(find("set-nx-px").unwrap()));
        let ran = ran.unwrap();
        ran.assert_violated(Property::Resource, cause);
        for property in [Property::Exclusion, Property::Lease, Property::Ownership] {
            ran.assert_held(property);
        }
        let trial = trial.run_lock(&LockFactory::built_in(find("fenced").unwrap()));
        trial.unwrap().assert_as_expected();
    }
}

/// Every buyer is let in at once: the accesses would have spoilt the stock without the fault.
#[test]
fn stock_that_the_lock_has_spoilt_is_the_locks_in_every_scenario() {
    let no_lock = MUTANTS.iter().find(|mutant| mutant.name == "no-lock");
    let no_lock = LockFactory::built_in(no_lock.unwrap());
    for (name, _) in SCENARIOS {
        let ran = Trial::scenario(name)
            .unwrap()
            .seeds(0..20)
            .run_lock(&no_lock);
        let ran = ran.unwrap();
        assert!(ran.violation(Property::Resource).is_some(), "{name}");
        for run in ran.runs() {
            let cause = run.verdicts[&Property::Resource].cause;
            let blamed = cause.map(Cause::responsible);
            let is_outside = matches!(
                blamed,
                Some(Responsible::Application(_) | Responsible::Resource(_))
            );
            assert!(!is_outside, "{name}, seed {}: {cause:?}", run.seed);
        }
    }
}

/// It freezes for longer than its lease, is told of the loss when it wakes, and its failure path writes.
#[test]
fn holder_that_writes_although_it_was_told_of_the_loss_is_blamed_for_it() {
    let mut scenario = catalog::named("gc-pause").unwrap();
    let pause = scenario.faults[0].clone();
    let unchecked = catalog::named("unchecked-write").unwrap();
    let mut unchecked = unchecked.faults[0].clone();
    unchecked.when = pause.when.clone();
    unchecked.duration = Some("3ttl".parse().unwrap());
    scenario.faults.push(unchecked);
    let ran = Trial::from_scenario(scenario).seeds(0..5);
    let ran = ran.run_lock(&LockFactory::built_in(find("watchdog").unwrap()));
    let ran = ran.unwrap();
    ran.assert_violated(Property::Resource, Cause::UncheckedWrite);
    ran.assert_violated(Property::Exclusion, Cause::OutlivedLease);
    ran.assert_held(Property::Lease);
}

/// The client waits for its answer, as in Kleppmann's picture. The write stays under way until the most patient
/// waiter has come, which looks again a lease after it last looked.
#[test]
fn late_write_that_is_waited_for_spoils_the_stock_of_locks_that_do_not_renew() {
    let mut scenario = catalog::named("late-write").unwrap();
    scenario.workload.command_timeout = "3ttl".parse().unwrap();
    scenario.faults[0].duration = Some("2.5ttl".parse().unwrap());
    let trial = Trial::from_scenario(scenario).seeds(0..5);
    for lock in LOCKS {
        let ran = trial.run_lock(&LockFactory::built_in(lock)).unwrap();
        ran.assert_held(Property::Lease);
        if matches!(lock.name, "watchdog" | "redlock-renewing" | "fenced") {
            ran.assert_held(Property::Resource);
        } else {
            ran.assert_violated(Property::Resource, Cause::LateWrite);
            ran.assert_violated(Property::Exclusion, Cause::OutlivedLease);
        }
    }
}
