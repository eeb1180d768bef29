//! The articles' claims about holders that are late, that die, and that renew.

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
        let outcome = run(&late, name);
        outcome.assert_held(Property::Ownership);
        outcome.assert_held(Property::Lease);
        outcome.assert_violated(Property::Exclusion, Cause::OutlivedLease);
    }
}

/// After a freeze, either the watchdog reports the loss first, or the client writes first. The seed decides the order;
/// on a real machine both orders occur.
#[test]
fn frozen_renewing_holder_may_or_may_not_stop_in_time() {
    let outcome = run(&catalog("gc-pause").seeds(0..12), "watchdog");
    for status in [Status::Held, Status::Violated] {
        let mut resources = outcome
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
fn crash_between_setnx_and_expire_blocks_everyone_forever() {
    let crash = catalog("crash-mid-acquire");
    let outcome = run(&crash, "setnx-expire");
    outcome.assert_violated(Property::Progress, Cause::NoTtl);
    assert!(
        outcome
            .runs()
            .iter()
            .all(|run| grants(run).next().is_none())
    );
    for name in [
        "setnx-lua",
        "getset",
        "get-then-del",
        "set-nx-px",
        "watchdog",
        "lock-take",
    ] {
        let outcome = run(&crash, name);
        outcome.assert_held(Property::Progress);
        outcome.assert_held(Property::Resource);
    }
}

/// A holder that freezes between reading and deleting the key, and continues when its successor is in its section.
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
    let outcome = run(&frozen_in_release("GET"), "get-then-del");
    outcome.assert_violated(Property::Ownership, Cause::Race);
    outcome.assert_violated(Property::Lease, Cause::StolenRelease);
}

/// With `WATCH`, the same trigger makes the transaction fail, because the key has changed.
#[test]
fn watch_detects_the_race_of_get_then_del() {
    for command in ["WATCH", "GET"] {
        let outcome = run(&frozen_in_release(command), "lock-take");
        outcome.assert_held(Property::Ownership);
        outcome.assert_held(Property::Lease);
        outcome.assert_held(Property::Resource);
    }
}

#[test]
fn script_checks_and_deletes_atomically() {
    for name in ["setnx-lua", "set-nx-px", "watchdog", "fenced"] {
        let outcome = run(&frozen_in_release("EVALSHA"), name);
        outcome.assert_held(Property::Ownership);
        outcome.assert_held(Property::Lease);
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
        let outcome = run(&long_job(), name);
        for property in Property::ALL {
            if !matches!(property, Property::Fencing | Property::Once) {
                outcome.assert_held(property);
            }
        }
        for run in outcome.runs() {
            let renewals = run.history.events.iter();
            let renewals =
                renewals.filter(|event| matches!(event.what, EventKind::Extended { .. }));
            // Three sections of two leases, with four renewals each, minus some for the latencies.
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
        let outcome = run(&crash, name);
        outcome.assert_held(Property::Progress);
        outcome.assert_held(Property::Lease);
        for run in outcome.runs() {
            let mut events = run.history.events.iter().rev();
            let died = events.find(|event| matches!(event.what, EventKind::WorkerDown { .. }));
            let died_ns = died.unwrap().at_ns;
            let next_ns = grants(run).find(|at_ns| *at_ns > died_ns).unwrap();
            // The lease is one second, and the pause before the next attempt is at most 50 ms.
            assert!(
                next_ns - died_ns < 1_100 * MS,
                "{name}: {}",
                next_ns - died_ns
            );
        }
    }
}

/// The holder is disconnected from Redis for longer than its lease, before it has finished its work.
fn cut_off(nodes: &str) -> Trial {
    scenario(&format!(
        r#"
        [workload]
        workers = 3
        stock = 3
        section = "2ttl"
        wait = "10ttl"
        command_timeout = "0.3ttl"
        # So that client 0 gets every node's key, and no bare majority.
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

/// The client receives the loss report in time, and does not access the stock.
#[test]
fn watchdog_that_cannot_renew_reports_the_loss() {
    for name in ["watchdog", "redlock-renewing"] {
        let outcome = run(&cut_off(""), name);
        outcome.assert_held(Property::Lease);
        outcome.assert_held(Property::Resource);
        for run in outcome.runs() {
            let mut events = run.history.events.iter();
            assert!(
                events.any(|event| matches!(event.what, EventKind::Lost { .. })),
                "{name}"
            );
        }
    }
}

#[test]
fn unreachable_minority_does_not_end_a_renewed_redlock() {
    let outcome = run(&cut_off("nodes = [0, 3]"), "redlock-renewing");
    outcome.assert_held(Property::Exclusion);
    outcome.assert_held(Property::Resource);
    for run in outcome.runs() {
        let mut events = run.history.events.iter();
        assert!(!events.any(|event| matches!(event.what, EventKind::Lost { .. })));
    }
}

/// Kleppmann: the resource rejects a holder that has outlived its lease.
#[test]
fn fencing_protects_the_resource_from_a_late_holder() {
    let outcome = run(&catalog("gc-pause"), "fenced");
    outcome.assert_held(Property::Fencing);
    outcome.assert_held(Property::Resource);
    outcome.assert_held(Property::Progress);
    let unfenced = run(&catalog("gc-pause"), "set-nx-px");
    unfenced.assert_violated(Property::Resource, Cause::OutlivedLease);
}
