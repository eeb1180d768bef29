use picklock_scenarios::catalog;

use super::*;

fn triggers_for_worker(worker: Option<usize>) -> Triggers {
    let mut faults = catalog::named("lost-reply").unwrap().faults;
    faults[0].when.as_mut().unwrap().worker = worker;
    let triggers = Triggers::for_plans(&faults, 1).0;
    triggers.begin();
    triggers
}

/// For a lock that renews in the background, the renewals count as extensions, and the driver's requests do not.
#[test]
fn renewal_is_an_extension_of_a_lock_that_renews() {
    let faults = catalog::named("late-extend").unwrap().faults;
    let fires = |renews, phase| {
        let (triggers, _due) = Triggers::for_plans(&faults, 1);
        let triggers = triggers.for_renewals(renews);
        triggers.begin();
        let frame = InterceptedFrame {
            at_ns: 0,
            link: LinkId { worker: 0, node: 0 },
            conn: 1,
            direction: Direction::Request,
            command: "EVALSHA",
            is_error: false,
            key: Some(0),
            op: 1,
            phase,
            lock_effect: LockEffect::Unknown,
        };
        let by_frame = (0..2).any(|_| triggers.intercept(&frame).is_some());
        let on = TriggerEvent::Extend;
        (
            by_frame,
            (0..2).any(|_| triggers.happened(on, 0, None).is_some()),
        )
    };
    assert_eq!(fires(true, Phase::Idle), (true, false));
    assert_eq!(fires(true, Phase::Acquire), (false, false));
    assert_eq!(fires(false, Phase::Idle), (false, true));
}

/// Some locks renew in the background and also extend on request. A granted request may then replace a renewal.
#[test]
fn granted_extension_makes_later_requests_extensions() {
    let faults = catalog::named("late-extend").unwrap().faults;
    let (triggers, _due) = Triggers::for_plans(&faults, 1);
    let triggers = triggers.for_renewals(true);
    triggers.begin();
    let requested = || triggers.happened(TriggerEvent::Extend, 0, None).is_some();
    assert!((0..3).all(|_| !requested()));
    triggers.record_extended();
    assert!(!requested());
    assert!(requested());
}

/// An adapter may send commands before it is ready.
#[test]
fn frames_are_ignored_before_the_run_begins() {
    let faults = catalog::named("lost-reply").unwrap().faults;
    let triggers = Triggers::for_plans(&faults, 1).0.listing_events();
    assert!(!triggers.is_armed(0));
    triggers.begin();
    assert!(triggers.is_armed(0));
}

#[test]
fn only_frames_of_awaited_workers_are_intercepted() {
    let of_one = triggers_for_worker(Some(1));
    assert_eq!(
        [0, 1, 2].map(|it| of_one.is_armed(it)),
        [false, true, false]
    );
    // With more than 64 workers, some frames are intercepted unnecessarily, but none is missed.
    let of_worker_100 = triggers_for_worker(Some(100));
    assert!(of_worker_100.is_armed(100));
    let of_any_worker = triggers_for_worker(None);
    assert!((0..200).all(|worker| of_any_worker.is_armed(worker)));
    of_any_worker.forget(0);
    assert!((0..200).all(|worker| !of_any_worker.is_armed(worker)));
}
