//! The library's entry point.

use picklock_harness::check::{Cause, Property};
use picklock_harness::sim::LockFactory;
use picklock_harness::{Trial, TrialError};
use picklock_impls::find;

fn built_in(name: &str) -> LockFactory {
    LockFactory::built_in(find(name).unwrap())
}

/// Returns the message of a failed assertion.
fn panic_message(assert: impl FnOnce() + std::panic::UnwindSafe) -> String {
    let panic = std::panic::catch_unwind(assert).unwrap_err();
    *panic.downcast::<String>().unwrap()
}

#[test]
fn catalog_expectations_can_be_asserted() {
    for name in picklock_scenarios::catalog::names() {
        let scenario = picklock_scenarios::catalog::named(name).unwrap();
        // Some scenarios require a quorum.
        if !scenario.runs_in(picklock_scenarios::BackendName::Sim) || scenario.check_for(1).is_err()
        {
            continue;
        }
        let trial = Trial::scenario(name).unwrap().seeds(0..3);
        let outcome = trial.run_lock(&built_in("set-nx-px")).unwrap();
        assert_eq!(outcome.runs().len(), 3);
        outcome.assert_as_expected();
    }
}

#[test]
fn failed_assertion_contains_story_and_reproduction() {
    let trial = Trial::scenario("gc-pause").unwrap().seeds([7, 8]);
    let outcome = trial.run_lock(&built_in("setnx-expire")).unwrap();
    outcome.assert_violated(Property::Ownership, Cause::StolenRelease);
    let text = panic_message(|| outcome.assert_held(Property::Ownership));
    assert!(text.starts_with("`setnx-expire` in `gc-pause`: ownership should be held, which fails in 2 of 2 runs\n\nseed 7: ownership violated (stolen-release)\n  "), "{text}");
    assert!(text.contains("pause-client of client"), "{text}");
    assert!(
        text.contains("To repeat it: Trial::scenario(\"gc-pause\")? with .seeds([7])"),
        "{text}"
    );
    let (_, saved) = text.split_once("The run is saved in ").unwrap();
    let saved = std::path::Path::new(saved.lines().next().unwrap());
    for file in [
        "run.json",
        "history.jsonl",
        "key-history.jsonl",
        "commands.jsonl",
    ] {
        assert!(saved.join(file).is_file(), "{}: {file}", saved.display());
    }
}

/// An inconclusive property has not held.
#[test]
fn inconclusive_property_is_not_held() {
    let trial = Trial::scenario("calm").unwrap().workers(1).seeds(0..1);
    let outcome = trial.run_lock(&built_in("set-nx-px")).unwrap();
    let text = panic_message(|| outcome.assert_held(Property::Exclusion));
    assert!(text.contains("no two clients ever competed"), "{text}");
    let text = panic_message(|| outcome.assert_held(Property::Fencing));
    assert!(text.contains("fencing not-applicable"), "{text}");
}

#[test]
fn invalid_trial_is_an_error_with_help() {
    let error = Trial::scenario("gc-puase").unwrap_err();
    assert!(
        error.to_string().contains("did you mean `gc-pause`?"),
        "{error}"
    );
    let error =
        Trial::from_toml("name = \"x\"\nsummary = \"y\"\n[workload]\nworkers = 0").unwrap_err();
    assert!(error.to_string().contains("0 workers"), "{error}");
    let trial = Trial::scenario("calm").unwrap();
    let none = trial.clone().seeds([]).run_lock(&built_in("redlock"));
    assert!(matches!(none.unwrap_err(), TrialError::NoSeeds));
    let none = trial.workers(0).run_lock(&built_in("redlock"));
    assert!(matches!(none.unwrap_err(), TrialError::Scenario(_)));
}

#[tokio::test]
async fn trial_runs_inside_a_runtime() {
    let trial = Trial::scenario("calm").unwrap().seeds(0..2);
    trial
        .run_lock(&built_in("redlock"))
        .unwrap()
        .assert_held(Property::Lease);
}
