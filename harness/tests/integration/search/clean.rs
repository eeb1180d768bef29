//! Sweeps: nothing is found against a property that a lock keeps under single faults of clients and of the network, and
//! what is folded is a run that is made.

use std::sync::atomic::AtomicBool;

use picklock_harness::check::Property;
use picklock_harness::search::fault_model::Group;
use picklock_harness::search::injection_points::since_last_fired;
use picklock_harness::search::{Plan, Target, ViolationFilter};
use picklock_scenarios::FaultPlan;

use super::{InjectionPoint, fault_model, is_missed, listed, plan, ran, sweep, target};

const SURVIVED: &[Group] = &[Group::Clients, Group::Network];

/// The finds against the property, as plans; and how many schedules there were. A part of the sweep, as every plan of
/// a quorum lock takes five nodes.
fn against(lock: &str, property: Property, groups: &[Group], part: u64) -> (Vec<Vec<String>>, u64) {
    let mut sweep = sweep(lock, "short", groups);
    sweep.shard = (1, part);
    sweep.wanted = ViolationFilter {
        properties: vec![property],
        outlived_lease: true,
    };
    let tried = sweep.run(2, &AtomicBool::new(false), |_| ()).unwrap();
    assert!(tried.complete && tried.stuck == 0, "{lock}");
    let signatures = tried
        .counterexamples
        .simplest()
        .into_iter()
        .map(|find| find.signature);
    (signatures.collect(), tried.schedules)
}

#[test]
fn locks_keep_their_promise_under_every_single_fault_that_they_must_survive() {
    for (lock, property, part) in [
        ("set-nx-px", Property::Lease, 1),
        ("fenced", Property::Resource, 1),
        ("redlock", Property::Lease, 8),
        ("redlock-renewing", Property::Lease, 8),
    ] {
        let (counterexamples, schedules) = against(lock, property, SURVIVED, part);
        assert_eq!(
            counterexamples,
            Vec::<Vec<String>>::new(),
            "{lock}: {property}"
        );
        assert!(schedules > 500, "{lock}: {schedules} schedules");
    }
}

#[test]
fn what_a_lock_does_not_promise_to_survive_is_found_in_the_same_sweep() {
    let (counterexamples, _) = against("set-nx-px", Property::Lease, &[Group::Data], 1);
    assert!(
        counterexamples.contains(&vec!["evict at granted".to_owned()]),
        "{counterexamples:?}"
    );
}

/// A few of the faults that can strike at a moment, other ones at each.
fn some(target: &Target, moment: &InjectionPoint, at: usize) -> Vec<FaultPlan> {
    let all = fault_model(target, &Group::ALL).at(&moment.trigger);
    all.into_iter().skip(at % 7).step_by(7).collect()
}

/// The pair is below the plan of the fault that strikes first, if both strike.
fn is_below(target: &Target, first: &Plan, second: &FaultPlan) -> bool {
    let injection_points = listed(target, first);
    let mut since = since_last_fired(&injection_points).iter();
    since.any(|moment| Some(&moment.trigger) == second.when.as_ref())
}

#[test]
fn pair_in_the_other_order_is_the_same_run_and_is_tried() {
    let mut compared = 0;
    for lock in ["set-nx-px", "watchdog", "pubsub", "redlock"] {
        let (target, base) = (target(lock), plan("short"));
        let injection_points = listed(&target, &base);
        let step = injection_points.len() / 5;
        for (at, late) in injection_points.iter().enumerate().skip(step).step_by(step) {
            let early = some(&target, &injection_points[at / 2], at + 3);
            for (a, b) in some(&target, late, at).into_iter().zip(early) {
                // This one is folded: below `a`, `b` is before `a` has struck.
                let pruned = ran(&target, &base.with(a.clone()).with(b.clone())).history;
                if is_missed(&pruned) {
                    continue;
                }
                let first = base.with(b.clone());
                let other = ran(&target, &first.with(a.clone())).history;
                assert_eq!(pruned, other, "{lock}: {a:?} and {b:?}");
                assert!(is_below(&target, &first, &a), "{lock}: {a:?} below {b:?}");
                compared += 1;
            }
        }
    }
    assert!(compared > 20, "only {compared} pairs were compared");
}
