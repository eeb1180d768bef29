//! A sweep misses no moment: every one that is listed comes, and no further one does.

use std::collections::HashMap;

use picklock_harness::history::EventKind;
use picklock_harness::search::Plan;
use picklock_scenarios::{FaultKind, FaultPlan, LeaseDuration, Selection, Trigger, Who};

use super::{InjectionPoint, injection_points_of, is_missed, listed, plan, ran, target};

/// A fault that can strike at any moment, and changes nothing that matters here.
fn at(when: Trigger) -> FaultPlan {
    FaultPlan {
        when: Some(when),
        workers: Some(Selection::Word(Who::Same)),
        by: Some(LeaseDuration::Ttl(0.5).into()),
        ..FaultPlan::new(FaultKind::ClockSkew)
    }
}

/// The last moment of each sort, with its place in the list.
fn last_ones(injection_points: Vec<InjectionPoint>) -> Vec<(usize, Trigger)> {
    let mut last: HashMap<String, (usize, Trigger)> = HashMap::new();
    for (place, moment) in injection_points.into_iter().enumerate() {
        let sort = Trigger {
            nth: 1,
            ..moment.trigger.clone()
        };
        last.insert(format!("{sort:?}"), (place, moment.trigger));
    }
    last.into_values().collect()
}

fn each_comes_and_no_further_one(lock: &str, plan: &Plan) {
    let target = target(lock);
    let last = last_ones(listed(&target, plan));
    assert!(last.len() > 10, "{lock}: {} sorts of moments", last.len());
    for (place, trigger) in last {
        let struck = ran(&target, &plan.with(at(trigger.clone())));
        assert!(
            !is_missed(&struck.history),
            "{lock}: never came: {trigger:?}"
        );
        let moment = &injection_points_of(&struck)[place];
        assert!(moment.struck, "{lock}: not at its place: {trigger:?}");
        assert_eq!(moment.trigger, trigger, "{lock}");
        let further = Trigger {
            nth: trigger.nth + 1,
            ..trigger
        };
        let missed = ran(&target, &plan.with(at(further.clone())));
        assert!(
            is_missed(&missed.history),
            "{lock}: is not listed: {further:?}"
        );
    }
}

#[test]
fn every_listed_moment_comes_and_no_other_does() {
    for (lock, workload) in [
        ("set-nx-px", "short"),
        ("get-then-del", "short"),
        ("pubsub", "short"),
        ("signal-list", "short"),
        ("watchdog", "held"),
        ("set-nx-px", "extend"),
        ("redlock", "short"),
    ] {
        each_comes_and_no_further_one(lock, &plan(workload));
    }
}

#[test]
fn every_listed_moment_of_a_run_with_a_fault_comes_and_no_other_does() {
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
        each_comes_and_no_further_one(lock, &base.with(first));
    }
}

/// Until its moment, a fault changes nothing.
#[test]
fn run_with_a_fault_is_the_run_without_it_until_the_fault_strikes() {
    let (target, base) = (target("redlock"), plan("short"));
    let without = ran(&target, &base).history;
    for moment in listed(&target, &base).into_iter().step_by(40) {
        let with = ran(&target, &base.with(at(moment.trigger))).history;
        let is_fault = |what: &EventKind| matches!(what, EventKind::FaultBegan { .. });
        let until = with
            .events
            .iter()
            .position(|event| is_fault(&event.what))
            .unwrap();
        assert_eq!(with.events[..until], without.events[..until]);
    }
}
