//! Locks that keep a property under single faults of clients and of the network: a sweep finds nothing against it.

use std::sync::atomic::AtomicBool;

use picklock_harness::check::Property;
use picklock_harness::search::Wanted;
use picklock_harness::search::vocabulary::Group;

use super::sweep;

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
    assert_eq!(finds, [["evict at granted"]]);
}
