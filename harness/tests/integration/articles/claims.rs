//! The articles' claims of holders that are late, that die, and that renew.

use picklock_harness::Trial;
use picklock_harness::check::{Cause, Property, Status};
use picklock_harness::history::EventKind;

use super::{catalog, grants, run, scenario};

const MS: u64 = 1_000_000;

#[test]
fn finally_del_removes_anothers_lock() {
    let late = catalog("gc-pause");
    run(&late, "setnx-expire").assert_violated(Property::Ownership, Cause::StolenRelease);
    for name in [
        "setnx-lua",
        "get-then-del",
        "set-nx-px",
        "lock-take",
        "fenced",
    ] {
        let ran = run(&late, name);
        ran.assert_held(Property::Ownership);
        ran.assert_held(Property::Lease);
        ran.assert_violated(Property::Exclusion, Cause::OutlivedLease);
    }
}

/// After a freeze, either the watchdog's report of its loss is first, or the buyer's own write. The seed
/// draws it, and a real machine does both.
#[test]
fn a_frozen_holder_that_renews_may_be_stopped_in_time_or_not() {
    let ran = run(&catalog("gc-pause").seeds(0..12), "watchdog");
    for status in [Status::Held, Status::Violated] {
        let mut resources = ran
            .runs()
            .iter()
            .map(|run| &run.verdicts[&Property::Resource]);
        assert!(
            resources.any(|verdict| verdict.status == status),
            "{status:?}"
        );
    }
}

#[test]
fn crash_between_setnx_and_expire_blocks_everybody_for_ever() {
    let crash = catalog("crash-mid-acquire");
    let ran = run(&crash, "setnx-expire");
    ran.assert_violated(Property::Progress, Cause::NoTtl);
    assert!(ran.runs().iter().all(|run| grants(run).next().is_none()));
    for name in [
        "setnx-lua",
        "getset",
        "get-then-del",
        "set-nx-px",
        "watchdog",
        "lock-take",
    ] {
        let ran = run(&crash, name);
        ran.assert_held(Property::Progress);
        ran.assert_held(Property::Resource);
    }
}

/// A holder that freezes between the look and the deletion, until its successor is inside.
fn frozen_in_release(command: &str) -> Trial {
    scenario(&format!(
        r#"
        [workload]
        workers = 3
        stock = 4
        section = "0.8ttl"
        [[fault]]
        kind = "pause-client"
        when = {{ on = "reply", command = "{command}", during = "release" }}
        for = "0.9ttl"
        "#
    ))
}

#[test]
fn get_then_del_races() {
    let ran = run(&frozen_in_release("GET"), "get-then-del");
    ran.assert_violated(Property::Ownership, Cause::Race);
    ran.assert_violated(Property::Lease, Cause::StolenRelease);
}

/// The same moment: what `WATCH` has seen makes the transaction fail.
#[test]
fn watch_notices_what_get_then_del_does_not() {
    for command in ["WATCH", "GET"] {
        let ran = run(&frozen_in_release(command), "lock-take");
        ran.assert_held(Property::Ownership);
        ran.assert_held(Property::Lease);
        ran.assert_held(Property::Resource);
    }
}

#[test]
fn a_script_leaves_no_room_between_the_look_and_the_deletion() {
    for name in ["setnx-lua", "set-nx-px", "watchdog", "fenced"] {
        let ran = run(&frozen_in_release("EVALSHA"), name);
        ran.assert_held(Property::Ownership);
        ran.assert_held(Property::Lease);
    }
}

fn long_job() -> Trial {
    scenario(
        r#"
        [workload]
        workers = 3
        stock = 3
        section = "2ttl"
        wait = "10ttl"
        "#,
    )
}

#[test]
fn renewal_at_half_the_lease_keeps_a_long_job_alive() {
    for name in ["watchdog", "redlock-renewing"] {
        let ran = run(&long_job(), name);
        for property in Property::ALL {
            if property != Property::Fencing {
                ran.assert_held(property);
            }
        }
        for run in ran.runs() {
            let renewals = run.history.events.iter();
            let renewals =
                renewals.filter(|event| matches!(event.what, EventKind::Extended { .. }));
            // Three sections of two leases, renewed four times each, less what the way takes.
            assert!((9..=12).contains(&renewals.count()), "{name}");
        }
    }
    for name in ["set-nx-px", "redlock"] {
        run(&long_job(), name).assert_violated(Property::Exclusion, Cause::OutlivedLease);
    }
}

#[test]
fn renewal_dies_with_its_process() {
    let crash = scenario(
        r#"
        [workload]
        workers = 3
        stock = 3
        section = "2ttl"
        wait = "10ttl"
        [[fault]]
        kind = "crash-client"
        when = { on = "stock-changed", stock = 2 }
        [[fault]]
        kind = "crash-client"
        when = { on = "stock-read", stock = 2 }
        "#,
    );
    for name in ["watchdog", "redlock-renewing"] {
        let ran = run(&crash, name);
        ran.assert_held(Property::Progress);
        ran.assert_held(Property::Lease);
        for run in ran.runs() {
            let mut events = run.history.events.iter().rev();
            let died = events.find(|event| matches!(event.what, EventKind::WorkerDown { .. }));
            let died_ns = died.unwrap().at_ns;
            let next_ns = grants(run).find(|at_ns| *at_ns > died_ns).unwrap();
            // The lease is a second; the pause before the next attempt is up to 50 ms.
            assert!(
                next_ns - died_ns < 1_100 * MS,
                "{name}: {}",
                next_ns - died_ns
            );
        }
    }
}

/// The holder is cut off from Redis for longer than its lease, with its work not yet done.
fn cut_off(nodes: &str) -> Trial {
    scenario(&format!(
        r#"
        [workload]
        workers = 3
        stock = 3
        section = "2ttl"
        wait = "10ttl"
        command_timeout = "0.3ttl"
        # So that worker 0 gets every node's key, and no bare majority.
        [[fault]]
        kind = "hold"
        at = "0ms"
        for = "0.2ttl"
        direction = "request"
        workers = [1, 2]
        [[fault]]
        kind = "partition"
        when = {{ on = "stock-read", stock = 3 }}
        for = "1.8ttl"
        workers = "same"
        {nodes}
        "#
    ))
}

/// It is told in time, and does not touch the stock.
#[test]
fn a_watchdog_that_cannot_renew_says_so() {
    for name in ["watchdog", "redlock-renewing"] {
        let ran = run(&cut_off(""), name);
        ran.assert_held(Property::Lease);
        ran.assert_held(Property::Resource);
        for run in ran.runs() {
            let mut events = run.history.events.iter();
            assert!(
                events.any(|event| matches!(event.what, EventKind::Lost { .. })),
                "{name}"
            );
        }
    }
}

#[test]
fn a_minority_that_cannot_be_reached_does_not_end_a_renewed_redlock() {
    let ran = run(&cut_off("nodes = [0, 3]"), "redlock-renewing");
    ran.assert_held(Property::Exclusion);
    ran.assert_held(Property::Resource);
    for run in ran.runs() {
        let mut events = run.history.events.iter();
        assert!(!events.any(|event| matches!(event.what, EventKind::Lost { .. })));
    }
}

/// Kleppmann: a holder that outlived its lease is shut out by the resource.
#[test]
fn fencing_saves_the_resource_from_a_holder_that_oversleeps() {
    let ran = run(&catalog("gc-pause"), "fenced");
    ran.assert_held(Property::Fencing);
    ran.assert_held(Property::Resource);
    ran.assert_held(Property::Progress);
    let unfenced = run(&catalog("gc-pause"), "set-nx-px");
    unfenced.assert_violated(Property::Resource, Cause::OutlivedLease);
}
