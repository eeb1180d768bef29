//! Sweeps of correct locks: no counterexample to a property that the lock keeps under single faults
//! of clients and of the network, and pruned plans that equal other runs.

use std::sync::atomic::AtomicBool;

use picklock_harness::check::Property;
use picklock_harness::search::fault_model::Group;
use picklock_harness::search::injection_points::since_last_fired;
use picklock_harness::search::{Plan, Target, ViolationFilter};
use picklock_scenarios::FaultPlan;

use super::{InjectionPoint, fault_model, is_missed, listed, plan, run_plan, sweep, target};

const SURVIVED: &[Group] = &[Group::Clients, Group::Network];

/// Returns the signatures of the counterexamples to the property, and the number of schedules. Only one shard is swept,
/// because plans of a quorum lock are slow with their five nodes.
fn against(
    lock: &str,
    property: Property,
    groups: &[Group],
    shards: u64,
) -> (Vec<Vec<String>>, u64) {
    let mut sweep = sweep(lock, "short", groups);
    sweep.shard = (1, shards);
    sweep.wanted = ViolationFilter {
        properties: vec![property],
        outlived_lease: true,
        ..ViolationFilter::default()
    };
    let outcome = sweep.run(2, &AtomicBool::new(false), |_| ()).unwrap();
    assert!(outcome.complete && outcome.stuck == 0, "{lock}");
    let signatures = outcome
        .counterexamples
        .simplest()
        .into_iter()
        .map(|group| group.signature);
    (signatures.collect(), outcome.schedules)
}

#[test]
fn correct_locks_survive_every_single_fault() {
    for (lock, property, shards) in [
        ("set-nx-px", Property::Lease, 1),
        ("fenced", Property::Resource, 1),
        ("redlock", Property::Lease, 8),
        ("redlock-renewing", Property::Lease, 8),
    ] {
        let (counterexamples, schedules) = against(lock, property, SURVIVED, shards);
        assert_eq!(
            counterexamples,
            Vec::<Vec<String>>::new(),
            "{lock}: {property}"
        );
        assert!(schedules > 500, "{lock}: {schedules} schedules");
    }
}

#[test]
fn sweep_finds_faults_that_no_lock_survives() {
    let (counterexamples, _) = against("set-nx-px", Property::Lease, &[Group::Data], 1);
    assert!(
        counterexamples.contains(&vec!["evict at granted".to_owned()]),
        "{counterexamples:?}"
    );
}

/// Returns every seventh fault that can fire at an injection point. The first fault differs between the points.
fn some(target: &Target, point: &InjectionPoint, at: usize) -> Vec<FaultPlan> {
    let all = fault_model(target, &Group::ALL).at(&point.trigger);
    all.into_iter().skip(at % 7).step_by(7).collect()
}

/// Returns `true` if the plan with both faults is a child of the plan with the fault that fires first.
fn is_below(target: &Target, first: &Plan, second: &FaultPlan) -> bool {
    let injection_points = listed(target, first);
    let mut since = since_last_fired(&injection_points).iter();
    since.any(|point| Some(&point.trigger) == second.when.as_ref())
}

#[test]
fn pruned_pair_equals_a_pair_in_the_other_order() {
    let mut compared = 0;
    for lock in ["set-nx-px", "watchdog", "pubsub", "redlock"] {
        let (target, base) = (target(lock), plan("short"));
        let injection_points = listed(&target, &base);
        let step = injection_points.len() / 5;
        for (at, late) in injection_points.iter().enumerate().skip(step).step_by(step) {
            let early = some(&target, &injection_points[at / 2], at + 3);
            for (a, b) in some(&target, late, at).into_iter().zip(early) {
                // This plan is pruned: among the children of `a`, `b` is before `a` fires.
                let pruned = run_plan(&target, &base.with(a.clone()).with(b.clone())).history;
                if is_missed(&pruned) {
                    continue;
                }
                let first = base.with(b.clone());
                let other = run_plan(&target, &first.with(a.clone())).history;
                assert_eq!(pruned, other, "{lock}: {a:?} and {b:?}");
                assert!(is_below(&target, &first, &a), "{lock}: {a:?} below {b:?}");
                compared += 1;
            }
        }
    }
    assert!(compared > 20, "only {compared} pairs were compared");
}
