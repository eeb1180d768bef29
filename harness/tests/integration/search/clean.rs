//! Sweeps: nothing is found against a property that a lock keeps under single faults of clients and of the network, and
//! what is folded is a run that is made.

use std::sync::atomic::AtomicBool;

use picklock_harness::check::{Cause, Property, Status, judge};
use picklock_harness::history::{EventKind, History};
use picklock_harness::search::moments::since_last_struck;
use picklock_harness::search::vocabulary::Group;
use picklock_harness::search::{Keep, Plan, Shown, Target, Wanted, show_one};
use picklock_scenarios::FaultPlan;

use super::{Moment, is_missed, listed, plan, ran, sweep, target, vocabulary};

const SURVIVED: &[Group] = &[Group::Clients, Group::Network];

/// The finds against the property, as plans; and how many schedules there were. A part of the sweep, as every plan of
/// a quorum lock takes five nodes.
fn against(lock: &str, property: Property, groups: &[Group], part: u64) -> (Vec<Vec<String>>, u64) {
    let mut sweep = sweep(lock, "short", groups);
    sweep.shard = (1, part);
    sweep.wanted = Wanted {
        properties: vec![property],
        outlived_lease: true,
    };
    let tried = sweep.run(2, &AtomicBool::new(false), |_| ()).unwrap();
    assert!(tried.complete && tried.stuck == 0, "{lock}");
    let shapes = tried.finds.simplest().into_iter().map(|find| find.shape);
    (shapes.collect(), tried.schedules)
}

#[test]
fn locks_keep_their_promise_under_every_single_fault_that_they_must_survive() {
    for (lock, property, part) in [
        ("set-nx-px", Property::Lease, 1),
        ("fenced", Property::Resource, 1),
        ("redlock", Property::Lease, 8),
        ("redlock-renewing", Property::Lease, 8),
    ] {
        let (finds, schedules) = against(lock, property, SURVIVED, part);
        assert_eq!(finds, Vec::<Vec<String>>::new(), "{lock}: {property}");
        assert!(schedules > 500, "{lock}: {schedules} schedules");
    }
}

#[test]
fn what_a_lock_does_not_promise_to_survive_is_found_in_the_same_sweep() {
    let (finds, _) = against("set-nx-px", Property::Lease, &[Group::Data], 1);
    assert!(
        finds.contains(&vec!["evict at granted".to_owned()]),
        "{finds:?}"
    );
}

/// A few of the faults that can strike at a moment, other ones at each.
fn some(target: &Target, moment: &Moment, at: usize) -> Vec<FaultPlan> {
    let all = vocabulary(target, &Group::ALL).at(&moment.trigger);
    all.into_iter().skip(at % 7).step_by(7).collect()
}

/// The pair is below the plan of the fault that strikes first, if both strike.
fn is_below(target: &Target, first: &Plan, second: &FaultPlan) -> bool {
    let moments = listed(target, first);
    let mut since = since_last_struck(&moments).iter();
    since.any(|moment| Some(&moment.trigger) == second.when.as_ref())
}

#[test]
fn pair_in_the_other_order_is_the_same_run_and_is_tried() {
    let mut compared = 0;
    for lock in ["set-nx-px", "watchdog", "pubsub", "redlock"] {
        let (target, base) = (target(lock), plan("short"));
        let moments = listed(&target, &base);
        let step = moments.len() / 5;
        for (at, late) in moments.iter().enumerate().skip(step).step_by(step) {
            let early = some(&target, &moments[at / 2], at + 3);
            for (a, b) in some(&target, late, at).into_iter().zip(early) {
                // This one is folded: below `a`, `b` is before `a` has struck.
                let folded = ran(&target, &base.with(a.clone()).with(b.clone())).history;
                if is_missed(&folded) {
                    continue;
                }
                let first = base.with(b.clone());
                let other = ran(&target, &first.with(a.clone())).history;
                assert_eq!(folded, other, "{lock}: {a:?} and {b:?}");
                assert!(is_below(&target, &first, &a), "{lock}: {a:?} below {b:?}");
                compared += 1;
            }
        }
    }
    assert!(compared > 20, "only {compared} pairs were compared");
}

/// The client of this moment dies there, for good.
fn death_at(target: &Target, moment: &Moment) -> FaultPlan {
    let faults = vocabulary(target, &[Group::Clients]).at(&moment.trigger);
    faults.last().expect("a client can die").clone()
}

/// What a run tells but for its faults and deaths.
fn beside_deaths(history: &History) -> Vec<String> {
    let told = history.events.iter().filter(|event| {
        !matches!(
            event.what,
            EventKind::FaultBegan { .. }
                | EventKind::FaultStruck { .. }
                | EventKind::WorkerDown { .. }
        )
    });
    told.map(|event| format!("{event:?}")).collect()
}

/// The verdicts without their stories, which tell when a client died.
fn found_in(history: &History) -> Vec<(Property, Status, Option<Cause>)> {
    let verdicts = judge(history).into_iter();
    let verdicts = verdicts.map(|(property, it)| (property, it.status, it.cause));
    verdicts.collect()
}

#[test]
fn fault_after_two_deaths_of_one_course_makes_one_run() {
    const SETTLED_NS: u64 = 500_000;
    let (mut compared, mut differing) = (0, 0);
    for lock in ["set-nx-px", "fenced", "pubsub", "redlock"] {
        let (target, base) = (target(lock), plan("short"));
        let show = |plan: &Plan| -> Shown {
            show_one(&target, &Wanted::default(), plan, Keep::Moments).expect("it ends")
        };
        let moments = show(&base).moments;
        let deaths = moments.iter().take(120).map(|moment| {
            let plan = base.with(death_at(&target, moment));
            let shown = show(&plan);
            (plan, shown)
        });
        let deaths: Vec<(Plan, Shown)> = deaths.collect();
        for (at, pair) in deaths.windows(2).enumerate() {
            let [(one, earlier), (other, later)] = pair else {
                unreachable!("there are two");
            };
            if earlier.course != later.course {
                differing += 1;
                continue;
            }
            let (victim, died_ns) = (moments[at + 1].trigger.worker, moments[at + 1].at_ns);
            let others = later.moments.iter().filter(|moment| {
                moment.trigger.worker != victim && moment.at_ns > died_ns + SETTLED_NS
            });
            for (number, moment) in others.enumerate().skip(at % 131).step_by(131) {
                for second in some(&target, moment, number) {
                    let [one, other] =
                        [one, other].map(|plan| ran(&target, &plan.with(second.clone())).history);
                    let told = [&one, &other].map(beside_deaths);
                    assert_eq!(told[0], told[1], "{lock}: a death at {at}, then {second:?}");
                    assert_eq!(found_in(&one), found_in(&other), "{lock}: {at}, {second:?}");
                    compared += 1;
                }
            }
        }
    }
    assert!(compared > 100, "only {compared} pairs were compared");
    assert!(differing > 200, "only {differing} deaths made a difference");
}
