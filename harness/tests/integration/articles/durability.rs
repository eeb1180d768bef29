//! The articles' claims of servers that fail: what a failover, a restart and a loss of power take.

use picklock_harness::Trial;
use picklock_harness::check::{Cause, Property};
use picklock_harness::history::EventKind;
use picklock_scenarios::Persistence;
use picklock_scenarios::catalog::named;

use super::{catalog, grants, run, scenario};

#[test]
fn one_master_with_replicas_loses_the_lock_at_failover() {
    for name in [
        "setnx-expire",
        "setnx-lua",
        "getset",
        "get-then-del",
        "set-nx-px",
        "watchdog",
        "lock-take",
        "fenced",
    ] {
        let ran = run(&catalog("master-failover"), name);
        ran.assert_violated(Property::Lease, Cause::LostOnFailover);
    }
}

#[test]
fn redlock_survives_the_failover_of_one_node() {
    for name in ["redlock", "redlock-renewing"] {
        let ran = run(&catalog("master-failover"), name);
        ran.assert_held(Property::Lease);
        ran.assert_held(Property::Resource);
        ran.assert_held(Property::Progress);
    }
}

/// The replica acknowledged the key, and then heard no more of its master.
#[test]
fn replicated_holds_while_every_replica_acknowledged() {
    let ran = run(&catalog("master-failover-synced"), "replicated");
    ran.assert_held(Property::Lease);
    ran.assert_held(Property::Exclusion);
    ran.assert_held(Property::Resource);
}

/// Where the replica hears nothing, nobody gets a lock that a failover would lose.
#[test]
fn replicated_refuses_what_its_replica_does_not_have() {
    let ran = run(&catalog("master-failover"), "replicated");
    assert!(ran.runs().iter().all(|run| grants(run).next().is_none()));
    // Who does not ask for the replica's word loses the lock again.
    let careless = catalog("master-failover").option("replicas", "0");
    run(&careless, "replicated").assert_violated(Property::Lease, Cause::LostOnFailover);
}

const QUORUM: [&str; 2] = ["redlock", "redlock-renewing"];

/// A scenario of the catalog on servers that keep more, or less.
fn keeping(name: &str, persistence: Persistence) -> Trial {
    let mut scenario = named(name).unwrap_or_else(|error| panic!("{error}"));
    scenario.topology.persistence = persistence;
    Trial::from_scenario(scenario).seeds(0..3)
}

#[test]
fn redlock_loses_with_exactly_three_nodes_and_one_empty_restart() {
    for name in QUORUM {
        let ran = run(&catalog("quorum-erosion"), name);
        ran.assert_violated(Property::Lease, Cause::QuorumErosion);
        ran.assert_violated(Property::Exclusion, Cause::QuorumErosion);
        ran.assert_violated(Property::Resource, Cause::QuorumErosion);
        // Of five nodes that it has, it can spare one.
        let all = run(&catalog("node-restart"), name);
        all.assert_held(Property::Lease);
        all.assert_held(Property::Resource);
    }
}

#[test]
fn delayed_restart_longer_than_the_ttl_repairs_it() {
    for name in QUORUM {
        let ran = run(&catalog("quorum-erosion-delayed"), name);
        for property in [
            Property::Exclusion,
            Property::Lease,
            Property::Resource,
            Property::Progress,
        ] {
            ran.assert_held(property);
        }
    }
}

/// A delay that is shorter than the lease repairs nothing: the first vote is still believed in.
#[test]
fn delayed_restart_shorter_than_the_ttl_does_not_repair_it() {
    let delayed = scenario(
        r#"
        [topology]
        min_nodes = 5
        [workload]
        workers = 2
        stock = 1
        start = "one-first"
        ttl = "2s"
        section = "0.8ttl"
        command_timeout = "0.5ttl"
        [[fault]]
        kind = "partition"
        at = "0ms"
        workers = [0]
        nodes = [3, 4]
        [[fault]]
        kind = "crash-node"
        when = { on = "stock-read", worker = 0, stock = 1 }
        nodes = [0]
        for = "0.5ttl"
        "#,
    );
    run(&delayed, "redlock").assert_violated(Property::Lease, Cause::QuorumErosion);
}

#[test]
fn everysec_persistence_does_not_repair_it() {
    for name in QUORUM {
        let ran = run(&keeping("quorum-erosion", Persistence::AofEverysec), name);
        ran.assert_violated(Property::Lease, Cause::QuorumErosion);
        ran.assert_violated(Property::Resource, Cause::QuorumErosion);
        // A disk that is asked at every write does.
        let ran = run(&keeping("quorum-erosion", Persistence::AofAlways), name);
        ran.assert_held(Property::Lease);
        ran.assert_held(Property::Resource);
    }
}

#[test]
fn everysec_persistence_forgets_a_lock_that_is_younger_than_a_second() {
    for name in ["set-nx-px", "watchdog", "fenced"] {
        let ran = run(&catalog("node-restart-everysec"), name);
        ran.assert_violated(Property::Lease, Cause::LostOnRestart);
        run(&catalog("node-restart-aof"), name).assert_held(Property::Lease);
    }
    run(&catalog("node-restart-everysec"), "redlock").assert_held(Property::Lease);
}

/// What is lost is the last second, and no more: an older lock is there again.
#[test]
fn everysec_persistence_keeps_a_lock_that_is_older_than_a_second() {
    let older = scenario(
        r#"
        [topology]
        persistence = "aof-everysec"
        [workload]
        workers = 3
        stock = 1
        ttl = "6s"
        section = "0.5ttl"
        start = "one-first"
        command_timeout = "0.3ttl"
        [[fault]]
        kind = "crash-node"
        at = "2500ms"
        nodes = [0]
        for = "50ms"
        "#,
    );
    let ran = run(&older, "set-nx-px");
    ran.assert_held(Property::Lease);
    ran.assert_held(Property::Resource);
    for run in ran.runs() {
        let mut events = run.history.events.iter();
        let crashed = |what: &EventKind| matches!(what, EventKind::FaultBegan { fault, .. } if fault == "crash-node");
        assert!(events.any(|event| crashed(&event.what)));
    }
}

/// The counter goes with the data.
#[test]
fn a_fencing_counter_is_lost_with_its_node() {
    let restart = scenario(
        r#"
        [workload]
        workers = 3
        stock = 6
        section = "0.1ttl"
        [[fault]]
        kind = "crash-node"
        when = { on = "stock-read", stock = 2 }
        for = "0.1ttl"
        nodes = [0]
        "#,
    );
    run(&restart, "fenced").assert_violated(Property::Fencing, Cause::LostOnRestart);
}
