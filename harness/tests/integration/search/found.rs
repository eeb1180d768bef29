//! Counterexamples: independent of threads and shards, as small as possible, and repeatable.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use picklock_harness::check::{Cause, Property};
use picklock_harness::expectation::{Expected, Tables};
use picklock_harness::lock_factory::LockFactory;
use picklock_harness::search::fault_model::Group;
use picklock_harness::search::{
    CounterexampleGroup, Demand, Effort, Hunt, Plan, Progress, SearchResult, Violation,
    ViolationFilter, shrink, shrink_all, workload,
};
use picklock_harness::{Trial, check::judge};
use picklock_impls::find;
use picklock_scenarios::Scenario;

use super::{run_plan, sweep, target};

const EFFORT: Effort = Effort {
    runs: 300,
    signatures: 1,
};

fn summaries(outcome: &SearchResult) -> Vec<(Property, Cause, Vec<String>, u64)> {
    let groups = outcome.counterexamples.clone().simplest().into_iter();
    let summaries = groups.map(|it| {
        (
            it.violation.property,
            it.violation.cause,
            it.signature,
            it.count,
        )
    });
    summaries.collect()
}

#[test]
fn shards_together_are_the_whole_sweep() {
    let never = AtomicBool::new(false);
    let whole = sweep(
        "release-without-token",
        "short",
        &[Group::Clients, Group::Network],
    );
    let all = whole.run(2, &never, |_| ()).unwrap();
    assert!(all.complete && all.violations > 0);
    let (mut schedules, mut pruned, mut violations) = (0, 0, BTreeSet::new());
    for shard in 1..=3 {
        let mut part = whole.clone();
        part.shard = (shard, 3);
        let outcome = part.run(1, &never, |_| ()).unwrap();
        assert_eq!(outcome.placements, all.placements);
        schedules += outcome.schedules;
        pruned += outcome.pruned;
        violations.extend(outcome.counterexamples.violations());
    }
    assert_eq!((schedules, pruned), (all.schedules, all.pruned));
    assert_eq!(violations, all.counterexamples.violations());
    assert_eq!(all.schedules, all.placements + 1);
}

/// The estimate of the remaining time depends on this share. The later the first fault fires, the fewer second faults
/// are possible.
#[test]
fn reported_progress_matches_the_share_of_runs() {
    let mut sweep = sweep("set-nx-px", "held", &[Group::Clients]);
    (sweep.depth, sweep.shard) = (2, (1, 16));
    let mut reports = Vec::new();
    let on_progress =
        |progress: &Progress<'_>| reports.push((progress.schedules, progress.done.unwrap()));
    let outcome = sweep.run(1, &AtomicBool::new(false), on_progress).unwrap();
    assert!(reports.len() > 5, "{reports:?}");
    for (schedules, done) in &reports {
        let by_runs = *schedules as f64 / outcome.schedules as f64;
        assert!(
            (by_runs - done).abs() < 0.1,
            "{by_runs} {done}: {reports:?}"
        );
    }
}

#[test]
fn searches_do_not_depend_on_the_number_of_threads() {
    let never = AtomicBool::new(false);
    let swept = |threads| {
        let sweep = sweep("set-nx-px", "short", &[Group::Clients]);
        summaries(&sweep.run(threads, &never, |_| ()).unwrap())
    };
    assert_eq!(swept(1), swept(3));
    let hunted = |threads| {
        let (outcome, patterns) = hunt("set-nx-px", 300).run(threads, &never, |_| ());
        assert_eq!(outcome.schedules + outcome.stuck, 300);
        (summaries(&outcome), patterns)
    };
    let once = hunted(1);
    assert!(!once.0.is_empty());
    assert_eq!(once, hunted(3));
}

fn hunt(lock: &str, runs: u64) -> Hunt {
    Hunt {
        target: target(lock),
        base: workload::for_hunts(&[]).unwrap(),
        seed: 7,
        groups: Group::ALL.to_vec(),
        wanted: ViolationFilter::default(),
        runs: Some(runs),
        uniform: false,
        shard: (1, 1),
    }
}

fn shrunk(lock: &str, workload: &str, groups: &[Group]) -> Vec<CounterexampleGroup> {
    let never = AtomicBool::new(false);
    let sweep = sweep(lock, workload, groups);
    let outcome = sweep.run(2, &never, |_| ()).unwrap();
    shrink_all(&sweep.target, outcome.counterexamples, EFFORT, 2, &never)
}

/// Each shrunk counterexample violates the same property with the same cause, has at most three faults and three
/// clients, and gives the same run each time.
#[test]
fn shrunk_counterexample_is_small_and_repeatable() {
    for (lock, workload, groups) in [
        ("release-without-token", "short", &Group::ALL[..]),
        ("extension-adds-up", "extend", &[Group::Clients]),
    ] {
        let counterexamples = shrunk(lock, workload, groups);
        assert!(!counterexamples.is_empty(), "{lock}");
        for counterexample in counterexamples {
            let scenario = &counterexample.plan.scenario;
            assert!(
                scenario.faults.len() <= 3 && scenario.workload.workers <= 3,
                "{counterexample:?}"
            );
            let target = target(lock);
            let (once, again) = (
                run_plan(&target, &counterexample.plan).history,
                run_plan(&target, &counterexample.plan).history,
            );
            assert_eq!(once, again);
            let verdict = &judge(&once)[&counterexample.violation.property];
            assert_eq!(
                verdict.cause,
                Some(counterexample.violation.cause),
                "{lock}"
            );
        }
    }
}

/// A lock that is broken without faults needs no fault in its counterexample, and as few clients as possible.
#[test]
fn broken_lock_needs_no_fault() {
    let counterexamples = shrunk("no-lock", "short", &Group::ALL);
    let lease = counterexamples
        .iter()
        .find(|it| it.violation.property == Property::Lease)
        .unwrap();
    assert_eq!(lease.plan.scenario.faults, []);
    assert_eq!(lease.plan.scenario.workload.workers, 2);
}

/// Four clients with short sections overlap with the client whose grant is late. Two suffice if
/// their sections are longer.
#[test]
fn many_short_sections_shrink_to_few_long_ones() {
    let text = r#"
name = "many"
summary = "A hunt has drawn it."
[workload]
workers = 4
stock = 5
purchases = 2
section = "0.1ttl"
extend = "0.025ttl"
again = "0.1ttl"
command_timeout = "2ttl"
limit = "12ttl"
[[fault]]
kind = "delay"
when = { on = "reply", worker = 2, names_key = true, takes = true, during = "acquire", nth = 2 }
by = "1.5ttl"
frames = 1
workers = "same"
nodes = "same"
[[fault]]
kind = "flush-scripts"
at = "0s"
nodes = "all"
optional = true
"#;
    let plan = Plan {
        scenario: Scenario::parse(text, "many").unwrap(),
        seed: 4010112989,
    };
    let violation = Violation {
        property: Property::Exclusion,
        cause: Cause::ExpiredGrant,
    };
    let target = target("expired-is-held");
    let verdict = &judge(&run_plan(&target, &plan).history)[&violation.property];
    assert_eq!(verdict.cause, Some(violation.cause));
    let demand = Demand {
        violation,
        robust: false,
    };
    let shrunk = shrink(&target, plan, demand, 3_000, &AtomicBool::new(false));
    let scenario = &shrunk.plan.scenario;
    assert_eq!((scenario.faults.len(), scenario.workload.workers), (1, 2));
    let removed: Vec<&str> = (shrunk.removed.iter())
        .map(|fault| fault.kind.as_str())
        .collect();
    assert_eq!(removed, ["flush-scripts"]);
}

/// Without a fault, two clients get a lock without a quorum only if they split the nodes within 0.1
/// ms. Without a lock, they always overlap.
#[test]
fn counterexample_is_robust_unless_it_depends_on_latencies() {
    let never = AtomicBool::new(false);
    for (lock, is_robust) in [("no-lock", true), ("redlock-no-quorum", false)] {
        let mut hunt = hunt(lock, 400);
        // Shrinking the other violations would take most of the time.
        hunt.wanted.properties = vec![Property::Lease];
        let (outcome, _) = hunt.run(2, &never, |_| ());
        let counterexamples = shrink_all(&hunt.target, outcome.counterexamples, EFFORT, 2, &never);
        let wanted = Violation {
            property: Property::Lease,
            cause: Cause::UnbackedGrant,
        };
        let first = counterexamples
            .iter()
            .find(|it| it.violation == wanted)
            .unwrap();
        let found = (first.signature.as_slice(), first.robust);
        assert_eq!(found, (&[] as &[String], is_robust), "{lock}");
    }
}

#[test]
fn trial_sweeps_and_hunts() {
    let lock = |name: &str| LockFactory::built_in(find(name).unwrap());
    let trial = Trial::scenario("calm").unwrap().workers(2).seeds([1]);
    let swept = trial.sweep(&lock("set-nx-px"), 0).unwrap();
    assert!(swept.exhaustive && swept.schedules == 1 && swept.counterexamples.is_empty());
    swept.assert_nothing_against(Property::Lease);
    let hunted = trial.hunt(&lock("no-lock"), 20).unwrap();
    assert!(!hunted.exhaustive && hunted.schedules == 20);
    let panic = std::panic::catch_unwind(|| hunted.assert_nothing_against(Property::Lease));
    assert!(panic.is_err());
}

#[test]
fn every_saved_regression_is_reproduced() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios/regressions");
    let mut shown = 0;
    for file in fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        let scenario = Scenario::parse(&text, &path.display().to_string()).unwrap();
        for lock in scenario.expect.keys() {
            let plan = Plan {
                scenario: scenario.clone(),
                seed: 1,
            };
            let verdicts = judge(&run_plan(&target(lock), &plan).history);
            let expected = Expected::for_lock(&scenario, lock, Tables::NamedOnly);
            let mismatches = expected.mismatches(&verdicts);
            assert!(
                mismatches.is_empty(),
                "{lock} × {}: {mismatches:?}",
                path.display()
            );
            shown += 1;
        }
    }
    assert!(shown > 0);
}
