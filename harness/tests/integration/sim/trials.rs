//! The library's own front door.

use picklock_harness::check::{Cause, Property};
use picklock_harness::sim::LockFactory;
use picklock_harness::{Trial, TrialError};
use picklock_impls::find;

fn strategy(name: &str) -> LockFactory {
    LockFactory::built_in(find(name).unwrap())
}

/// What a failed assertion says.
fn complaint(assert: impl FnOnce() + std::panic::UnwindSafe) -> String {
    let panic = std::panic::catch_unwind(assert).unwrap_err();
    *panic.downcast::<String>().unwrap()
}

#[test]
fn what_the_catalog_expects_can_be_asserted() {
    for name in picklock_scenarios::catalog::names() {
        let scenario = picklock_scenarios::catalog::named(name).unwrap();
        // Some are about a quorum.
        if !scenario.runs_in(picklock_scenarios::BackendName::Sim) || scenario.check_for(1).is_err()
        {
            continue;
        }
        let trial = Trial::scenario(name).unwrap().seeds(0..3);
        let ran = trial.run_lock(&strategy("set-nx-px")).unwrap();
        assert_eq!(ran.runs().len(), 3);
        ran.assert_as_expected();
    }
}

#[test]
fn a_failed_assertion_tells_the_story_and_how_to_see_it_again() {
    let trial = Trial::scenario("gc-pause").unwrap().seeds([7, 8]);
    let ran = trial.run_lock(&strategy("setnx-expire")).unwrap();
    ran.assert_violated(Property::Ownership, Cause::StolenRelease);
    let text = complaint(|| ran.assert_held(Property::Ownership));
    assert!(text.starts_with("`setnx-expire` in `gc-pause`: ownership should be held, which fails in 2 of 2 runs\n\nseed 7: ownership violated (stolen-release)\n  "), "{text}");
    assert!(text.contains("pause-client of worker"), "{text}");
    assert!(
        text.contains("To see it again: Trial::scenario(\"gc-pause\")? with .seeds([7])"),
        "{text}"
    );
    let (_, kept) = text.split_once("The run is kept in ").unwrap();
    let kept = std::path::Path::new(kept.lines().next().unwrap());
    for file in [
        "run.json",
        "history.jsonl",
        "key-history.jsonl",
        "commands.jsonl",
    ] {
        assert!(kept.join(file).is_file(), "{}: {file}", kept.display());
    }
}

/// What was not judged has not held.
#[test]
fn silence_is_no_success() {
    let trial = Trial::scenario("calm").unwrap().workers(1).seeds(0..1);
    let ran = trial.run_lock(&strategy("set-nx-px")).unwrap();
    let text = complaint(|| ran.assert_held(Property::Exclusion));
    assert!(text.contains("no two workers ever competed"), "{text}");
    let text = complaint(|| ran.assert_held(Property::Fencing));
    assert!(text.contains("fencing not-applicable"), "{text}");
}

#[test]
fn mistakes_are_errors_with_words() {
    let error = Trial::scenario("gc-puase").unwrap_err();
    assert!(
        error.to_string().contains("did you mean `gc-pause`?"),
        "{error}"
    );
    let error =
        Trial::from_toml("name = \"x\"\nsummary = \"y\"\n[workload]\nworkers = 0").unwrap_err();
    assert!(error.to_string().contains("0 workers"), "{error}");
    let trial = Trial::scenario("calm").unwrap();
    let none = trial.clone().seeds([]).run_lock(&strategy("redlock"));
    assert!(matches!(none.unwrap_err(), TrialError::NoSeeds));
    let none = trial.workers(0).run_lock(&strategy("redlock"));
    assert!(matches!(none.unwrap_err(), TrialError::Scenario(_)));
}

#[tokio::test]
async fn it_works_inside_a_runtime() {
    let trial = Trial::scenario("calm").unwrap().seeds(0..2);
    trial
        .run_lock(&strategy("redlock"))
        .unwrap()
        .assert_held(Property::Lease);
}
