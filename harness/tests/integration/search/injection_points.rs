//! A sweep misses no injection point: each listed point is reached, and no other point exists.

use std::collections::HashMap;

use picklock_harness::history::EventKind;
use picklock_harness::search::Plan;
use picklock_scenarios::{FaultKind, FaultPlan, LeaseDuration, Selection, Trigger, Who};

use super::{InjectionPoint, injection_points_of, is_missed, listed, plan, run_plan, target};

/// Creates a fault that can fire at any injection point, and has no effect on the tested property.
fn at(when: Trigger) -> FaultPlan {
    FaultPlan {
        when: Some(when),
        workers: Some(Selection::Word(Who::Same)),
        by: Some(LeaseDuration::Ttl(0.5).into()),
        ..FaultPlan::new(FaultKind::ClockSkew)
    }
}

/// Returns the last injection point of each kind, with its index in the list.
fn last_of_each_kind(injection_points: Vec<InjectionPoint>) -> Vec<(usize, Trigger)> {
    let mut last: HashMap<String, (usize, Trigger)> = HashMap::new();
    for (place, point) in injection_points.into_iter().enumerate() {
        let kind = Trigger {
            nth: 1,
            ..point.trigger.clone()
        };
        last.insert(format!("{kind:?}"), (place, point.trigger));
    }
    last.into_values().collect()
}

fn check_last_points(lock: &str, plan: &Plan) {
    let target = target(lock);
    let last = last_of_each_kind(listed(&target, plan));
    assert!(
        last.len() > 10,
        "{lock}: {} kinds of injection points",
        last.len()
    );
    for (place, trigger) in last {
        let result = run_plan(&target, &plan.with(at(trigger.clone())));
        assert!(
            !is_missed(&result.history),
            "{lock}: never came: {trigger:?}"
        );
        let point = &injection_points_of(&result)[place];
        assert!(point.fired, "{lock}: not at its index: {trigger:?}");
        assert_eq!(point.trigger, trigger, "{lock}");
        let further = Trigger {
            nth: trigger.nth + 1,
            ..trigger
        };
        let missed = run_plan(&target, &plan.with(at(further.clone())));
        assert!(
            is_missed(&missed.history),
            "{lock}: is not listed: {further:?}"
        );
    }
}

#[test]
fn every_listed_injection_point_is_reached() {
    for (lock, workload) in [
        ("set-nx-px", "short"),
        ("get-then-del", "short"),
        ("pubsub", "short"),
        ("signal-list", "short"),
        ("watchdog", "held"),
        ("set-nx-px", "extend"),
        ("redlock", "short"),
    ] {
        check_last_points(lock, &plan(workload));
    }
}

#[test]
fn every_injection_point_after_a_fault_is_reached() {
    let kinds = [
        FaultKind::Partition,
        FaultKind::CrashNode,
        FaultKind::CrashClient,
    ];
    for (lock, kind) in ["set-nx-px", "watchdog", "pubsub"].into_iter().zip(kinds) {
        let base = plan("short");
        let injection_points = listed(&target(lock), &base);
        let third = injection_points[injection_points.len() / 3].trigger.clone();
        let at_node = kind == FaultKind::CrashNode;
        let first = FaultPlan {
            when: Some(third),
            workers: (!at_node).then_some(Selection::Word(Who::Same)),
            nodes: (kind != FaultKind::CrashClient).then(|| Selection::List(vec![0])),
            ..FaultPlan::new(kind)
        };
        check_last_points(lock, &base.with(first));
    }
}

/// A fault changes nothing before its injection point.
#[test]
fn runs_are_equal_until_the_fault_fires() {
    let (target, base) = (target("redlock"), plan("short"));
    let without = run_plan(&target, &base).history;
    for point in listed(&target, &base).into_iter().step_by(40) {
        let with = run_plan(&target, &base.with(at(point.trigger))).history;
        let is_fault = |what: &EventKind| matches!(what, EventKind::FaultBegan { .. });
        let until = with
            .events
            .iter()
            .position(|event| is_fault(&event.what))
            .unwrap();
        assert_eq!(with.events[..until], without.events[..until]);
    }
}
