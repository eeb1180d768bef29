//! Faults that a correct lock cannot prevent: writes, commits and reads that go wrong outside the lock.

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

/// The catalog keeps the stock in the driver; this test keeps it in Redis.
#[test]
fn stock_in_redis_is_damaged_by_the_same_cause() {
    for (name, cause) in SCENARIOS {
        let mut scenario = catalog::named(name).unwrap();
        scenario.workload.stock_in = StockPlace::Redis;
        let trial = Trial::from_scenario(scenario).seeds(0..5);
        let outcome = trial.run_lock(&LockFactory::built_in(find("set-nx-px").unwrap()));
        let outcome = outcome.unwrap();
        outcome.assert_violated(Property::Resource, cause);
        for property in [Property::Exclusion, Property::Lease, Property::Ownership] {
            outcome.assert_held(property);
        }
        let trial = trial.run_lock(&LockFactory::built_in(find("fenced").unwrap()));
        trial.unwrap().assert_as_expected();
    }
}

/// All clients enter at the same time, so their accesses would damage the stock without the fault, too.
#[test]
fn damage_by_the_lock_is_never_blamed_on_the_stock() {
    let no_lock = MUTANTS.iter().find(|mutant| mutant.name == "no-lock");
    let no_lock = LockFactory::built_in(no_lock.unwrap());
    for (name, _) in SCENARIOS {
        let outcome = Trial::scenario(name)
            .unwrap()
            .seeds(0..20)
            .run_lock(&no_lock);
        let outcome = outcome.unwrap();
        assert!(outcome.violation(Property::Resource).is_some(), "{name}");
        for run in outcome.runs() {
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

/// The holder freezes for longer than its lease, receives the report of the loss when it continues, and writes anyway.
#[test]
fn write_after_a_loss_report_is_an_unchecked_write() {
    let mut scenario = catalog::named("gc-pause").unwrap();
    let pause = scenario.faults[0].clone();
    let unchecked = catalog::named("unchecked-write").unwrap();
    let mut unchecked = unchecked.faults[0].clone();
    unchecked.when = pause.when.clone();
    unchecked.duration = Some("3ttl".parse().unwrap());
    scenario.faults.push(unchecked);
    let outcome = Trial::from_scenario(scenario).seeds(0..5);
    let outcome = outcome.run_lock(&LockFactory::built_in(find("watchdog").unwrap()));
    let outcome = outcome.unwrap();
    outcome.assert_violated(Property::Resource, Cause::UncheckedWrite);
    outcome.assert_violated(Property::Exclusion, Cause::OutlivedLease);
    outcome.assert_held(Property::Lease);
}

/// The client waits for its reply, as in Kleppmann's figure. The write stays in transit until even
/// the waiter with the longest retry interval, one lease, has the lock.
#[test]
fn late_write_damages_the_stock_unless_the_lock_renews() {
    let mut scenario = catalog::named("late-write").unwrap();
    scenario.workload.command_timeout = "3ttl".parse().unwrap();
    scenario.faults[0].duration = Some("2.5ttl".parse().unwrap());
    let trial = Trial::from_scenario(scenario).seeds(0..5);
    for lock in LOCKS {
        let outcome = trial.run_lock(&LockFactory::built_in(lock)).unwrap();
        outcome.assert_held(Property::Lease);
        if matches!(lock.name, "watchdog" | "redlock-renewing" | "fenced") {
            outcome.assert_held(Property::Resource);
        } else {
            outcome.assert_violated(Property::Resource, Cause::LateWrite);
            outcome.assert_violated(Property::Exclusion, Cause::OutlivedLease);
        }
    }
}
